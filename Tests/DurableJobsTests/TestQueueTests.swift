import DurableJobs
import DurableJobsTesting
import Foundation
import Locking
import Logging
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct TestQueueTests {
  private struct Order: Job {
    static let kind: JobKind = "test.order"
    static let retry = RetryPolicy(maxAttempts: 9, base: .minutes(10), cap: .hours(6))
    static let timeout: Duration? = .minutes(5)
    var number: Int
  }

  private struct Receipt: Job {
    static let kind: JobKind = "test.receipt"
    static let queue: QueueName = "mail"
    var order: Int
  }

  private struct Declined: Error, Equatable {}

  /// Orders that ask for receipts; the receipts have no handler.
  private func ordering() -> JobRegistry<InMemoryLedger> {
    var registry = JobRegistry<InMemoryLedger>()
    registry.registerTransaction(Order.self) { job, transaction in
      try await transaction.enqueue(Receipt(order: job.number), options: JobOptions(delay: .hours(1)))
    }
    return registry
  }

  @Test func drainingRunsWhatIsDueAndLeavesTheRest() async throws {
    var registry = ordering()
    registry.register(Receipt.self) { _, _ in }
    let queue = TestQueue(registry)
    try await queue.client.enqueue((1...20).map { Order(number: $0) })
    try await queue.client.enqueue(Order(number: 90), options: JobOptions(delay: .minutes(5)))
    let drained = try await queue.drain()
    #expect(drained == Drained(completed: 20))
    #expect(try await queue.enqueued(Receipt.self).map(\.order).sorted() == Array(1...20))
    #expect(try await queue.enqueued(Order.self).map(\.number) == [90])
    let due = try await queue.records(of: Receipt.self).compactMap(\.runAt)
    #expect(due.allSatisfy { abs($0.timeIntervalSince(queue.clock.now) - 3600) < 0.01 } && due.count == 20)
    // The order, and all receipts, its own an hour after it.
    let before = queue.clock.now
    #expect(try await queue.drain(upTo: .days(1)) == Drained(completed: 22))
    #expect((3900..<3902).contains(queue.clock.now.timeIntervalSince(before)))
    #expect(queue.ledger.pendingCount == 0)
  }

  @Test func retriesOverHoursPassAtOnce() async throws {
    let attempts = Locked<[Date]>([])
    let clock = Locked<ManualClock?>(nil)
    var registry = JobRegistry<InMemoryLedger>()
    registry.register(Order.self) { _, context in
      attempts.withLock { $0.append(clock.withLock { $0?.now ?? .distantPast }) }
      if context.attempt < 9 { throw Declined() }
    }
    let queue = TestQueue(registry)
    clock.withLock { $0 = queue.clock }
    try await queue.client.enqueue(Order(number: 1))
    #expect(try await queue.drain(upTo: .days(7)) == Drained(completed: 1, failed: 8))
    let times = attempts.withLock { $0 }
    #expect(times.count == 9 && times == times.sorted())
    #expect(queue.dead.isEmpty)
  }

  @Test func theLastFailureIsADeadLetter() async throws {
    var registry = JobRegistry<InMemoryLedger>()
    registry.register(Order.self) { _, _ in throw Declined() }
    let queue = TestQueue(registry)
    try await queue.client.enqueue(Order(number: 1), options: JobOptions(maxAttempts: 3))
    #expect(try await queue.drain(upTo: .days(7)) == Drained(failed: 2, dead: 1))
    #expect(queue.dead.first?.record.failures.count == 3)
  }

  @Test func theLimitEndsADrain() async throws {
    let queue = TestQueue(ordering())
    try await queue.client.enqueue(Order(number: 1), options: JobOptions(delay: .days(2)))
    let before = queue.clock.now
    #expect(try await queue.drain(upTo: .days(1)) == Drained())
    #expect(queue.clock.now == before + 86_400 && queue.ledger.pendingCount == 1)
  }

  /// A handler that hangs is cut off when the clock passes its limit.
  @Test func theClockMovesTimeLimits() async throws {
    let isRunning = Locked(false)
    var registry = JobRegistry<InMemoryLedger>()
    registry.register(Order.self) { _, context in
      if context.attempt > 1 { return }
      isRunning.withLock { $0 = true }
      try await Task.sleep(for: .seconds(3600))
    }
    let queue = TestQueue(registry)
    let id = try #require(try await queue.client.enqueue(Order(number: 1)))
    try await queue.work {
      try await eventually("it runs") { isRunning.withLock { $0 } }
      queue.clock.advance(by: .minutes(6))
      try await eventually("it has failed") {
        // A tick that began before the move sleeps a little more.
        queue.clock.advance(by: .milliseconds(250))
        return queue.ledger.failures(of: id).count == 1
      }
    }
    #expect(
      queue.ledger.failures(of: id).map(\.error) == ["it ran longer than its limit of 300.0 seconds and was cancelled"])
    #expect(try await queue.drain(upTo: .days(1)) == Drained(completed: 1))
  }

  // MARK: Inline

  @Test func inlineRunsOneHandlerAndNothingElse() async throws {
    let queue = TestQueue(ordering())
    try await queue.runInline(Order(number: 7))
    #expect(try await queue.enqueued(Receipt.self).map(\.order) == [7])
    #expect(try await queue.enqueued(Order.self).isEmpty && queue.ledger.pendingCount == 1)
  }

  @Test func inlineThrowsWhatTheHandlerThrows() async throws {
    var registry = JobRegistry<InMemoryLedger>()
    registry.register(Order.self) { _, context in
      #expect(context.attempt == 4)
      throw Declined()
    }
    let queue = TestQueue(registry)
    await #expect(throws: Declined()) { try await queue.runInline(Order(number: 7), attempt: 4) }
    await #expect(throws: KindUnknown(kind: Receipt.kind)) { try await queue.runInline(Receipt(order: 7)) }
    #expect(queue.ledger.pendingCount == 0 && queue.dead.isEmpty)
  }

  @Test(arguments: [false, true]) func inlineRunsABatchOfOne(isOpen: Bool) async throws {
    var registry = JobRegistry<InMemoryLedger>()
    if isOpen {
      registry.registerBatch(Order.self, upTo: 10) { (batch: JobBatch<Order, InMemoryLedger>) in
        for job in batch.jobs where job.job.number == 9 { batch.fail(job, Declined()) }
        try await batch.transaction(ending: batch.jobs.filter { $0.job.number != 9 }) { live, transaction in
          try await transaction.enqueue(live.map { Receipt(order: $0.job.number) })
        }
      }
    } else {
      registry.registerBatch(Order.self, upTo: 10) { jobs, transaction in
        if jobs.contains(where: { $0.job.number == 9 }) { throw Declined() }
        try await transaction.enqueue(jobs.map { Receipt(order: $0.job.number) })
      }
    }
    let queue = TestQueue(registry)
    try await queue.runInline(Order(number: 7))
    await #expect(throws: Declined()) { try await queue.runInline(Order(number: 9)) }
    #expect(try await queue.enqueued(Receipt.self).map(\.order) == [7])
    #expect(queue.ledger.pendingCount == 1)
  }

  @Test func pushesAreFoundToo() async throws {
    let queue = TestQueue(ordering())
    try await queue.client.push(Receipt(order: 1))
    try await queue.client.push(Receipt(order: 2), options: JobOptions(queue: .default, delay: .minutes(1)))
    #expect(try await queue.enqueued(Receipt.self).map(\.order) == [1, 2])
    #expect(try await queue.records(of: Receipt.self).map(\.queue) == ["mail", "default"])
  }
}
