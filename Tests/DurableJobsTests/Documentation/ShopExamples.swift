import DurableJobs
import DurableJobsTesting
import Foundation
import Locking
import Logging
import TestSupport
import Testing

// The code of the articles of DurableJobs and DurableJobsTesting, here and in the files beside it, verbatim:
// ArticleTests compares.

struct SendReceipt: Job {
  static let kind: JobKind = "orders.receipt"
  var order: Int
}

struct ChargeCard: Job {
  static let kind: JobKind = "orders.charge"
  static let queue: QueueName = "payments"
  static let retry = RetryPolicy(maxAttempts: 8, base: .seconds(2), cap: .seconds(600))
  static let timeout: Duration? = .seconds(30)
  var order: Int
  var cents: Int
}

struct WarmCache: Job {
  static let kind: JobKind = "cache.warm"
  var product: Int
}

/// An external service that performs a request once per key, as payment services do.
actor Payments {
  private(set) var charges: [String: Int] = [:]
  private(set) var calls = 0
  private var losesAnswers: Int

  init(losesAnswers: Int = 0) { self.losesAnswers = losesAnswers }

  func charge(_ cents: Int, idempotencyKey: String) throws {
    calls += 1
    charges[idempotencyKey] = cents
    if losesAnswers > 0 {
      losesAnswers -= 1
      throw Failure("the answer got lost")
    }
  }
}

/// The articles' own helper for running jobs in a test.
///
/// Runs the pending jobs, and those that they enqueue, until none is pending.
func runJobs(
  _ registry: JobRegistry<InMemoryLedger>, on broker: InMemoryBroker, _ ledger: InMemoryLedger
) async throws {
  let worker = Worker(
    broker: broker, ledger: ledger, registry: registry,
    configuration: WorkerConfiguration(queues: ["default": 4, "payments": 4]), logger: Logger(label: "test"))
  try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask { try await worker.run() }
    while ledger.pendingCount > 0 { try await Task.sleep(for: .milliseconds(5)) }
    group.cancelAll()
  }
}

@Suite(.timeLimit(.minutes(5))) struct ShopExamples {
  private let broker = InMemoryBroker()
  private let ledger = InMemoryLedger()
  private var jobs: JobClient<InMemoryBroker, InMemoryLedger> {
    JobClient(broker: broker, ledger: ledger, logger: .quiet)
  }

  // MARK: Testing your jobs

  @Test func aJobThatNeverWorksIsADeadLetter() async throws {
    struct Hopeless: Job {
      static let kind: JobKind = "test.hopeless"
      static let retry = RetryPolicy(maxAttempts: 3, base: .milliseconds(1), cap: .milliseconds(1))
    }
    var registry = JobRegistry<InMemoryLedger>()
    registry.register(Hopeless.self) { _, context in throw Failure("attempt \(context.attempt)") }

    try await jobs.enqueue(Hopeless())
    try await runJobs(registry, on: broker, ledger)

    let dead = try #require(ledger.dead.first)
    #expect(dead.record.failures.map(\.error) == ["attempt 1", "attempt 2", "attempt 3"])
  }

  // MARK: Transactions and exactly once

  @Test func whatIsAskedForInATransactionThatFailsIsNotPending() async throws {
    do {
      try await jobs.transaction { tx in
        try await tx.enqueue(ChargeCard(order: 7, cents: 1999))
        throw Failure("out of stock")
      }
    } catch {
      // Neither the order nor the job exists.
    }
    #expect(ledger.pendingCount == 0)
  }

  @Test func aCallOutsideIsMadeAgainUnderTheSameKey() async throws {
    struct Charge: Job {
      static let kind = ChargeCard.kind
      static let retry = RetryPolicy(maxAttempts: 8, base: .milliseconds(1), cap: .milliseconds(1))
      var order: Int
      var cents: Int
    }
    let payments = Payments(losesAnswers: 2)
    var registry = JobRegistry<InMemoryLedger>()
    registry.register(Charge.self) { job, context in
      try await payments.charge(job.cents, idempotencyKey: "\(context.id)")
      try await context.transaction { tx in
        try await tx.enqueue(SendReceipt(order: job.order))
      }
    }
    registry.register(SendReceipt.self) { _, _ in }
    let id = try #require(try await jobs.enqueue(Charge(order: 7, cents: 1999)))
    try await runJobs(registry, on: broker, ledger)
    #expect(await payments.calls == 3)
    #expect(await payments.charges == ["\(id)": 1999])
  }

  @Test func aUniqueKeyIsOwedOnce() async throws {
    let options = JobOptions(uniqueKey: "receipt:7")
    let first = try await jobs.enqueue(SendReceipt(order: 7), options: options)
    let second = try await jobs.enqueue(SendReceipt(order: 7), options: options)
    #expect(first != nil && second == nil)  // while the first is pending
  }

  // MARK: Choosing between enqueue and push

  @Test func someJobsNeedNoRecord() async throws {
    try await jobs.enqueue(SendReceipt(order: 7))  // a row in the ledger first
    try await jobs.push(WarmCache(product: 12))  // the broker alone
    #expect(ledger.pendingCount == 1)
    #expect(await broker.depth(of: .default).ready == 2)
  }

  // MARK: Operating

  @Test func aJobTakesTheTraceOfItsRequestAlong() async throws {
    struct Request {
      let traceparent: String?
    }
    let request = Request(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    let jobs = jobs
    try await TraceContext.begin(following: request.traceparent).run {
      _ = try await jobs.enqueue(SendReceipt(order: 7))
    }
    let ids = ledger.pendingIDs(queue: .default, after: nil, before: JobID(high: .max, low: 0), limit: 10)
    let trace = ledger.records(ids, queue: .default).first?.trace?.id
    #expect(trace.map { "\($0)" } == "4bf92f3577b34da6a3ce929d0e0e4736")
  }

  @Test func optionsSayWhereAndWhen() async throws {
    try await jobs.enqueue(
      SendReceipt(order: 7), options: JobOptions(queue: "mail", priority: .high, delay: .hours(1)))
    #expect(await broker.depth(of: "mail").delayed == 1)
  }

  @Test func aPusherPushesBehindTheAnswer() async throws {
    let (broker, ledger, logger) = (broker, ledger, Logger.quiet)
    let pusher = JobPusher(broker: broker, logger: logger)
    let jobs = JobClient(broker: broker, ledger: ledger, pusher: pusher, logger: logger)
    try await jobs.enqueue(SendReceipt(order: 7))
    #expect(ledger.pendingCount == 1)
    #expect(await broker.depth(of: .default).ready == 0)

    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await pusher.run() }
      try await eventually { await broker.depth(of: .default).ready == 1 }
      group.cancelAll()
    }
  }

  // MARK: Retries, backoff and dead letters

  @Test func thePausesGrowToTheCap() {
    var generator = SystemRandomNumberGenerator()
    let policy = RetryPolicy(maxAttempts: 8, base: .seconds(2), cap: .seconds(600))
    for attempt in 1...8 {
      let pause = policy.delay(afterAttempt: attempt, using: &generator)
      #expect(pause >= .zero && pause <= min(.seconds(600), .seconds(2 << (attempt - 1))))
    }
  }
}
