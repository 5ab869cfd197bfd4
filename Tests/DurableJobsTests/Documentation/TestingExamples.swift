import DurableJobs
import DurableJobsTesting
import Logging
import TestSupport
import Testing

// The code of the articles TestingYourJobs, Middleware and RetriesAndDeadLetters, verbatim: ArticleTests compares.

@Suite(.timeLimit(.minutes(5))) struct TestingExamples {
  private struct CardDeclined: Error {}

  @Test func aPaidOrderSendsItsReceipt() async throws {
    var registry = JobRegistry<InMemoryLedger>()
    registry.registerTransaction(ChargeCard.self) { job, tx in
      try await tx.enqueue(SendReceipt(order: job.order), options: JobOptions(delay: .minutes(5)))
    }
    let queue = TestQueue(registry)

    try await queue.client.enqueue(ChargeCard(order: 7, cents: 1999))
    #expect(try await queue.drain() == Drained(completed: 1))
    #expect(try await queue.enqueued(SendReceipt.self).map(\.order) == [7])
  }

  @Test func aDeclinedCardIsChargedAgain() async throws {
    var registry = JobRegistry<InMemoryLedger>()
    registry.register(ChargeCard.self) { _, context in
      if context.attempt < 8 { throw CardDeclined() }
    }
    let queue = TestQueue(registry)
    try await queue.client.enqueue(ChargeCard(order: 7, cents: 1999))
    #expect(try await queue.drain(upTo: .days(1)) == Drained(completed: 1, failed: 7))
  }

  // MARK: Discarding, limits

  @Test func nothingToChargeIsDiscarded() async throws {
    var registry = JobRegistry<InMemoryLedger>()
    registry.register(ChargeCard.self) { job, context in
      if job.cents == 0 { throw JobDiscard("nothing to charge") }
    }
    let queue = TestQueue(registry)
    try await queue.client.enqueue(ChargeCard(order: 7, cents: 0))
    let jobs = queue.client
    try await jobs.enqueue(
      ChargeCard(order: 7, cents: 1999), options: JobOptions(maxAttempts: 2, timeout: .seconds(5)))
    #expect(try await queue.drain() == Drained(completed: 1, discarded: 1))
  }

  // MARK: Middleware

  struct ReportingErrors: JobMiddleware {
    let report: @Sendable (any Error, JobKind) -> Void
    var hooks: JobHooks { .run }

    func run(_ attempt: JobAttempt, next: () async throws -> Void) async throws {
      do {
        try await next()
      } catch {
        report(error, attempt.kind)
        throw error
      }
    }
  }

  @Test func errorsAreReported() async throws {
    let reports = Journal<JobKind>()
    let report: @Sendable (any Error, JobKind) -> Void = { _, kind in reports.note(kind) }
    let (broker, ledger, logger) = (InMemoryBroker(), InMemoryLedger(), Logger.quiet)
    var configuration = WorkerConfiguration(queues: [.default: 16])
    configuration.middleware.append(ReportingErrors(report: report))
    let jobs = JobClient(broker: broker, ledger: ledger, middleware: [JobTracing()], logger: logger)
    #expect(configuration.middleware.count == 3)
    try await jobs.enqueue(ChargeCard(order: 7, cents: 1999))

    var registry = JobRegistry<InMemoryLedger>()
    registry.register(ChargeCard.self) { _, _ in throw CardDeclined() }
    let queue = TestQueue(registry, middleware: [ReportingErrors(report: report)])
    try await queue.client.enqueue(ChargeCard(order: 7, cents: 1999), options: JobOptions(maxAttempts: 1))
    try await queue.drain()
    #expect(reports.entries == [ChargeCard.kind])
  }
}
