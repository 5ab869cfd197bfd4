import Foundation
import Glibc
import Locking
import Reactor
import Testing

@Suite(.timeLimit(.minutes(2))) struct EventLoopTests {
  @Test func runsWorkFromOtherThreadsInTheirOrder() async {
    let loop = EventLoop()
    let seen = Locked([Int: [Int]]())
    await withTaskGroup(of: Void.self) { group in
      for sender in 0..<8 {
        group.addTask {
          for number in 0..<2000 {
            loop.execute {
              #expect(loop.isCurrent)
              seen.withLock { $0[sender, default: []].append(number) }
            }
          }
        }
      }
    }
    await loop.turn()
    let numbers = seen.withLock { $0 }
    #expect(numbers.count == 8)
    #expect(numbers.values.allSatisfy { $0 == Array(0..<2000) })
    loop.stop()
  }

  @Test func firesTimersByDeadlineAndNotWhenCancelled() async {
    let loop = EventLoop()
    let fired = Locked([Int]())
    await withCheckedContinuation { done in
      loop.execute {
        for delay in [30, 10, 20, 0, 25] {
          loop.schedule(after: .milliseconds(delay)) { fired.withLock { $0.append(delay) } }
        }
        let cancelled = loop.schedule(after: .milliseconds(15)) { fired.withLock { $0.append(15) } }
        loop.schedule(after: .milliseconds(5)) { loop.cancel(cancelled) }
        loop.schedule(after: .milliseconds(40)) { done.resume() }
      }
    }
    #expect(fired.withLock { $0 } == [0, 10, 20, 25, 30])
    loop.stop()
  }

  @Test func manyTimersArmedAndCancelledLeaveNothing() async {
    let loop = EventLoop()
    await withCheckedContinuation { done in
      loop.execute {
        for _ in 0..<10_000 {
          let timer = loop.schedule(after: .seconds(3600)) { Issue.record("an hour has not passed") }
          loop.cancel(timer)
          loop.cancel(timer)
        }
        loop.schedule(after: .zero) { done.resume() }
      }
    }
    loop.stop()
  }

  @Test func tellsWhatADescriptorIsReadyFor() async throws {
    let loop = EventLoop()
    let pipe = try Pipe()
    let received = Locked([UInt8]())
    await withCheckedContinuation { done in
      loop.execute {
        loop.register(pipe.reading, interest: .read) { readiness in
          #expect(readiness.contains(.read))
          var byte: UInt8 = 0
          guard read(pipe.reading, &byte, 1) == 1 else {
            // The other end is closed.
            loop.deregister(pipe.reading)
            return done.resume()
          }
          received.withLock { $0.append(byte) }
        }
      }
      for byte: UInt8 in [1, 2, 3] { pipe.send(byte) }
      pipe.closeWriting()
    }
    #expect(received.withLock { $0 } == [1, 2, 3])
    close(pipe.reading)
    loop.stop()
  }

  @Test func interestIsWhatCounts() async throws {
    let loop = EventLoop()
    let pipe = try Pipe()
    let calls = Locked(0)
    pipe.send(1)
    await loop.run {
      loop.register(pipe.reading, interest: []) { _ in
        calls.withLock { $0 += 1 }
        loop.setInterest([], for: pipe.reading)
      }
    }
    for _ in 0..<5 { await loop.turn() }
    #expect(calls.withLock { $0 } == 0)
    await loop.run { loop.setInterest(.read, for: pipe.reading) }
    while calls.withLock({ $0 }) == 0 { await loop.turn() }
    for _ in 0..<5 { await loop.turn() }
    #expect(calls.withLock { $0 } == 1)
    await loop.run { loop.deregister(pipe.reading) }
    pipe.closeWriting()
    close(pipe.reading)
    loop.stop()
  }

  @Test func aHandlerMayCloseWhatIsReadyBesideIt() async throws {
    let loop = EventLoop()
    let pipes = try (0..<8).map { _ in try Pipe() }
    let served = Locked(0)
    for pipe in pipes { pipe.send(1) }
    await loop.run {
      for pipe in pipes {
        loop.register(pipe.reading, interest: .read) { _ in
          // The first one served stops all: none of the others may be called any more.
          served.withLock { $0 += 1 }
          for other in pipes { loop.deregister(other.reading) }
        }
      }
    }
    while served.withLock({ $0 }) == 0 { await loop.turn() }
    for _ in 0..<5 { await loop.turn() }
    #expect(served.withLock { $0 } == 1)
    for pipe in pipes {
      pipe.closeWriting()
      close(pipe.reading)
    }
    loop.stop()
  }

  @Test func turnEndsComeAfterTheTurnsWork() async {
    let loop = EventLoop()
    let order = Locked([String]())
    await loop.run {
      loop.atTurnEnd {
        order.withLock { $0.append("end") }
        loop.atTurnEnd { order.withLock { $0.append("end of the end") } }
      }
      loop.execute { order.withLock { $0.append("same turn") } }
      order.withLock { $0.append("first") }
    }
    await loop.turn()
    #expect(order.withLock { $0 } == ["first", "same turn", "end", "end of the end"])
    loop.stop()
  }

  @Test func isTheExecutorOfAnActor() async {
    let loop = EventLoop()
    let counter = Counter(loop)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<100 { group.addTask { for _ in 0..<100 { await counter.add() } } }
    }
    #expect(await counter.value == 10_000)
    loop.stop()
  }

  /// Each hop through another thread would cost a statement 0.1 ms.
  @Test func anActorCallsItsOwnMethodsWithoutLeavingTheLoop() async {
    let loop = EventLoop()
    #expect(await Counter(loop).isAloneWhileItCallsItself())
    loop.stop()
  }

  @Test func isTheExecutorOfATask() async {
    let loop = EventLoop()
    await withTaskExecutorPreference(loop.taskExecutor) {
      #expect(EventLoop.current === loop)
      await Task.yield()
      #expect(EventLoop.current === loop)
      await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<10 { group.addTask { loop.isCurrent } }
        for await isCurrent in group { #expect(isCurrent) }
      }
    }
    loop.stop()
  }

  /// Work that arrives between the loop's last check of its inbox and its sleep must wake it.
  @Test func losesNoWakeUp() async {
    let seed = ProcessInfo.processInfo.environment["FANMILL_TEST_SEED"].flatMap(UInt64.init) ?? .random(in: 0...(.max))
    print("losesNoWakeUp: FANMILL_TEST_SEED=\(seed)")
    let loop = EventLoop()
    await withTaskGroup(of: Void.self) { group in
      for sender in 0..<4 {
        group.addTask {
          var state = seed &+ UInt64(sender)
          for _ in 0..<1000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            // A random pause, so that work arrives at every stage of falling asleep.
            for _ in 0..<(state >> 56) { withExtendedLifetime(state) {} }
            if state >> 33 & 7 == 0 { await Task.yield() }
            await loop.turn()
          }
        }
      }
    }
    loop.stop()
  }
}

private actor Counter {
  private let loop: EventLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
  private(set) var value = 0
  private let somebodyElseRan = Locked(false)

  /// Whether the loop runs nothing else between a method and one that it awaits, before and after a reply.
  func isAloneWhileItCallsItself() async -> Bool {
    loop.execute { [somebodyElseRan] in somebodyElseRan.withLock { $0 = true } }
    let isAloneAtFirst = await isAlone()
    await withCheckedContinuation { answer in loop.execute { answer.resume() } }
    somebodyElseRan.withLock { $0 = false }
    loop.execute { [somebodyElseRan] in somebodyElseRan.withLock { $0 = true } }
    return await isAlone() && isAloneAtFirst
  }

  private func isAlone() async -> Bool { !somebodyElseRan.withLock { $0 } }

  init(_ loop: EventLoop) { self.loop = loop }

  func add() {
    loop.preconditionIsCurrent()
    value += 1
  }
}

private struct Pipe {
  let reading: Int32
  private let writing: Int32

  init() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    (reading, writing) = (ends[0], ends[1])
  }

  func send(_ byte: UInt8) {
    var byte = byte
    #expect(write(writing, &byte, 1) == 1)
  }

  func closeWriting() { close(writing) }
}

extension EventLoop {
  /// Waits until earlier work on the loop has run.
  fileprivate func turn() async {
    await run {}
  }

  fileprivate func run(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { done in
      execute {
        body()
        done.resume()
      }
    }
  }
}
