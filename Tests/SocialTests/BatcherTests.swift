import Locking
import Reactor
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(1))) struct BatcherTests {
  private struct Refused: Error {}

  /// Serves numbers by doubling them; each batch waits until the test releases it.
  private final class Counter: Sendable {
    let batches = Locked([[Int]]())
    private let begun = AsyncStream<[Int]>.makeStream()
    private struct Permits {
      var unused: [Bool] = []
      var waiting: [CheckedContinuation<Bool, Never>] = []
    }
    private let permits = Locked(Permits())

    func batcher(
      width: Int = 1, upTo limit: Int, _ begin: @escaping @Sendable () -> Void = {},
      where areAlike: @escaping @Sendable (Int, Int) -> Bool = { _, _ in true }
    ) -> Batcher<Int, Int, Int> {
      Batcher(width: width, upTo: limit, where: areAlike) { [self] requests in
        begin()
        batches.withLock { $0.append(requests) }
        begun.continuation.yield(requests)
        if await !isAllowed() { throw Refused() }
        try Task.checkCancellation()
        return requests.map { 2 * $0 }
      }
    }

    /// Waits for the next batch to begin.
    func next() async { for await _ in begun.stream { return } }

    /// Waits until the test decides how a batch ends.
    private func isAllowed() async -> Bool {
      await withCheckedContinuation { continuation in
        let permit = permits.withLock { permits -> Bool? in
          if permits.unused.isEmpty {
            permits.waiting.append(continuation)
            return nil
          }
          return permits.unused.removeFirst()
        }
        if let permit { continuation.resume(returning: permit) }
      }
    }

    /// Ends a batch.
    func allow(_ isRight: Bool) {
      let waiting = permits.withLock { permits in
        if permits.waiting.isEmpty {
          permits.unused.append(isRight)
          return CheckedContinuation<Bool, Never>?.none
        }
        return permits.waiting.removeFirst()
      }
      waiting?.resume(returning: isRight)
    }
  }

  private func waiting(_ count: Int, in batcher: Batcher<Int, Int, Int>) async {
    while batcher.waiting < count { await Task.yield() }
  }

  private func expectAnswer(_ number: Int, for client: Int, from batcher: Batcher<Int, Int, Int>) async throws {
    let answer = try await batcher.answer(number, for: client)
    #expect(answer == 2 * number)
  }

  @Test func whatComesMeanwhileIsTheNextBatch() async throws {
    let counter = Counter()
    let batcher = counter.batcher(upTo: 3)
    try await withThrowingTaskGroup(of: (Int, Int).self) { group in
      group.addTask { (0, try await batcher.answer(0, for: 0)) }
      await counter.next()
      for number in 1...5 {
        group.addTask { (number, try await batcher.answer(number, for: 0)) }
        await waiting(number, in: batcher)
      }
      for _ in 0..<2 {
        counter.allow(true)
        await counter.next()
      }
      counter.allow(true)
      for try await (number, answer) in group { #expect(answer == 2 * number) }
    }
    #expect(counter.batches.withLock { $0 } == [[0], [1, 2, 3], [4, 5]])
  }

  @Test func anErrorIsEverybodysInTheBatchAndNobodyElses() async throws {
    let counter = Counter()
    let batcher = counter.batcher(upTo: 10)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await #expect(throws: Refused.self) { try await batcher.answer(0, for: 0) } }
      await counter.next()
      for number in 1...2 {
        group.addTask {
          do {
            #expect(try await batcher.answer(number, for: 0) == 2 * number)
          } catch {
            Issue.record("it was not in the batch that failed: \(error)")
          }
        }
      }
      await waiting(2, in: batcher)
      counter.allow(false)
      await counter.next()
      counter.allow(true)
    }
    counter.allow(true)
    #expect(try await batcher.answer(7, for: 0) == 14)
  }

  @Test func aCancelledCallerTakesNobodyWithIt() async throws {
    let counter = Counter()
    let batcher = counter.batcher(upTo: 10)
    let first = Task { try await batcher.answer(1, for: 0) }
    await counter.next()
    let second = Task { try await batcher.answer(2, for: 0) }
    let third = Task { try await batcher.answer(3, for: 0) }
    await waiting(2, in: batcher)
    // One is in a batch, and may have taken effect; the other is waiting.
    first.cancel()
    second.cancel()
    await #expect(throws: CancellationError.self) { try await second.value }
    counter.allow(true)
    await counter.next()
    counter.allow(true)
    #expect(try await [first.value, third.value] == [2, 6])
    #expect(counter.batches.withLock { $0 } == [[1], [3]])
  }

  @Test func clientsTakeTurnsAndOnlyWhatIsAlikeSharesABatch() async throws {
    let counter = Counter()
    let batcher = counter.batcher(upTo: 3, where: { $0 % 2 == $1 % 2 })
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await expectAnswer(0, for: 0, from: batcher) }
      await counter.next()
      let asked = [(1, 1), (3, 1), (5, 1), (7, 1), (9, 2), (2, 3), (11, 4)]
      for (place, (number, client)) in asked.enumerated() {
        group.addTask { try await expectAnswer(number, for: client, from: batcher) }
        await waiting(place + 1, in: batcher)
      }
      for _ in 0..<4 {
        counter.allow(true)
        await counter.next()
      }
      counter.allow(true)
      try await group.waitForAll()
    }
    #expect(counter.batches.withLock { $0 } == [[0], [1, 9], [2], [11, 3, 5], [7]])
  }

  @Test func soManyBatchesAreUnderWayAtOnce() async throws {
    let counter = Counter()
    let batcher = counter.batcher(width: 2, upTo: 10)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0...1 {
        group.addTask { try await expectAnswer(number, for: number, from: batcher) }
        await counter.next()
      }
      for number in 2...3 {
        group.addTask { try await expectAnswer(number, for: number, from: batcher) }
        await waiting(number - 1, in: batcher)
      }
      counter.allow(true)
      await counter.next()
      for _ in 0..<2 { counter.allow(true) }
      try await group.waitForAll()
    }
    #expect(batcher.waiting == 0)
    #expect(counter.batches.withLock { $0 } == [[0], [1], [2, 3]])
  }

  @Test func aBatchHasTheLatestDeadlineOfItsRequests() async throws {
    let deadlines = Locked([Duration?]())
    let counter = Counter()
    let batcher = counter.batcher(upTo: 10, { deadlines.withLock { $0.append(Deadline.current?.remaining) } })
    func ask(_ number: Int, _ limit: Duration?) async throws {
      let answer = try await Deadline.$current.withValue(limit.map { Deadline(after: $0) }) {
        try await batcher.answer(number, for: 0)
      }
      #expect(answer == 2 * number)
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      // Alone; first in its batch and close to its limit; with one that has no limit.
      group.addTask { try await ask(0, .seconds(100)) }
      await counter.next()
      for (number, limit) in [Duration.zero, .seconds(300), .seconds(200)].enumerated() {
        group.addTask { try await ask(number, limit) }
        await waiting(number + 1, in: batcher)
      }
      counter.allow(true)
      await counter.next()
      for (number, limit) in [Duration.seconds(100), nil].enumerated() {
        group.addTask { try await ask(number, limit) }
        await waiting(number + 1, in: batcher)
      }
      for _ in 0..<2 { counter.allow(true) }
      try await group.waitForAll()
    }
    let remaining = deadlines.withLock { $0 }
    #expect(remaining.count == 3 && remaining[2] == nil)
    let (alone, together) = (try #require(remaining[0]), try #require(remaining[1]))
    #expect(alone <= .seconds(100) && together > .seconds(200))
  }
}
