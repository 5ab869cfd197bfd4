import Locking
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(1))) struct BatcherTests {
  private struct Refused: Error {}

  /// Serves numbers by doubling them; each batch waits until the test lets it go.
  private final class Counter: Sendable {
    let batches = Locked([[Int]]())
    private let begun = AsyncStream<[Int]>.makeStream()
    private let allowed = AsyncStream<Bool>.makeStream()

    func batcher(upTo limit: Int) -> Batcher<Int, Int> {
      Batcher(upTo: limit) { [self] requests in
        batches.withLock { $0.append(requests) }
        begun.continuation.yield(requests)
        for await isAllowed in allowed.stream {
          if !isAllowed { throw Refused() }
          break
        }
        try Task.checkCancellation()
        return requests.map { 2 * $0 }
      }
    }

    /// Waits for the next batch to begin.
    func next() async { for await _ in begun.stream { return } }

    func allow(_ isRight: Bool) { allowed.continuation.yield(isRight) }
  }

  private func waiting(_ count: Int, in batcher: Batcher<Int, Int>) async {
    while batcher.waitingCount < count { await Task.yield() }
  }

  @Test func whatComesMeanwhileIsTheNextBatch() async throws {
    let counter = Counter()
    let batcher = counter.batcher(upTo: 3)
    try await withThrowingTaskGroup(of: (Int, Int).self) { group in
      group.addTask { (0, try await batcher.answer(0)) }
      await counter.next()
      for number in 1...5 {
        group.addTask { (number, try await batcher.answer(number)) }
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
      group.addTask { await #expect(throws: Refused.self) { try await batcher.answer(0) } }
      await counter.next()
      for number in 1...2 {
        group.addTask {
          do {
            #expect(try await batcher.answer(number) == 2 * number)
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
    #expect(try await batcher.answer(7) == 14)
  }

  @Test func aCancelledCallerTakesNobodyWithIt() async throws {
    let counter = Counter()
    let batcher = counter.batcher(upTo: 10)
    let first = Task { try await batcher.answer(1) }
    await counter.next()
    let second = Task { try await batcher.answer(2) }
    let third = Task { try await batcher.answer(3) }
    await waiting(2, in: batcher)
    first.cancel()
    second.cancel()
    counter.allow(true)
    await counter.next()
    counter.allow(true)
    #expect(try await [first.value, second.value, third.value] == [2, 4, 6])
  }
}
