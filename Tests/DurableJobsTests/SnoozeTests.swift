import DurableJobs
import DurableJobsTesting
import JobsTestSupport
import TestSupport
import Testing

/// Handlers that postpone their jobs.
@Suite(.timeLimit(.minutes(5))) struct SnoozeTests {
  private struct Once: Job {
    static let kind: JobKind = "test.once"
    static let retry = RetryPolicy(maxAttempts: 1)
    var number: Int
  }

  private let stage = Stage()

  @Test func aJobIsPutOffAsOftenAsItsHandlerLikes() async throws {
    let attempts = Journal<Int>()
    var registry = Stage.Registry()
    registry.register(Once.self) { _, context in
      attempts.note(context.attempt)
      if attempts.entries.count < 5 { throw JobSnooze(for: .milliseconds(2)) }
    }
    try await stage.work(registry) { _ in
      try await stage.client.enqueue(Once(number: 1))
      try await stage.settled()
    }
    #expect(attempts.entries == [1, 1, 1, 1, 1])
    #expect(stage.ledger.dead.isEmpty && stage.ledger.ended.isEmpty)
  }

  @Test func aPushIsPutOffToo() async throws {
    let attempts = Journal<Int>()
    var registry = Stage.Registry()
    registry.register(Once.self) { _, context in
      attempts.note(context.attempt)
      if attempts.entries.count < 3 { throw JobSnooze(for: .milliseconds(2)) }
    }
    try await stage.work(registry) { _ in
      try await stage.client.push(Once(number: 1))
      try await eventually("it is done") { attempts.entries.count == 3 }
      try await stage.settled()
    }
    #expect(attempts.entries == [1, 1, 1] && stage.ledger.dead.isEmpty)
  }

  /// Otherwise the relay would push it at once after the broker lost everything.
  @Test func theLedgerKnowsWhenItIsDue() async throws {
    var registry = Stage.Registry()
    registry.register(Once.self) { _, _ in throw JobSnooze(for: .seconds(3600)) }
    let before = JobClock.milliseconds
    let id = try #require(try await stage.client.enqueue(Once(number: 1)))
    try await stage.work(registry) { _ in
      try await eventually("it is put off") { await stage.counts().delayed == 1 }
    }
    let record = try #require(stage.ledger.records([id], queue: .default).first)
    let due = try #require(record.runAt)
    #expect((before + 3_600_000...JobClock.milliseconds + 3_600_000).contains(due.unixMilliseconds))
    #expect(record.attempts == 0 && stage.ledger.failures(of: id).isEmpty)
    #expect(JobSnooze(for: .seconds(-5)).delay == .zero)
  }

  @Test func whatItsTransactionWroteIsUndone() async throws {
    let tries = Journal<Int>()
    var registry = Stage.Registry()
    registry.registerTransaction(Once.self) { job, transaction in
      try await transaction.enqueue(Effect(number: job.number))
      tries.note(job.number)
      if tries.entries.count == 1 { throw JobSnooze(for: .milliseconds(2)) }
    }
    try await stage.work(registry) { _ in
      try await stage.client.enqueue(Once(number: 1))
      try await stage.settled()
    }
    #expect(tries.entries.count == 2 && stage.ledger.pendingCount(in: Effect.queue) == 1)
  }

  @Test func inABatchTheOthersAreDone() async throws {
    let late = Journal<Int>()
    var registry = Stage.Registry()
    registry.registerBatch(Once.self, upTo: 10) { jobs, transaction in
      if let one = jobs.first(where: { $0.job.number == 3 }), late.entries.count < 4 {
        late.note(one.attempt)
        throw JobSnooze(for: .milliseconds(2))
      }
      try await transaction.enqueue(jobs.map { Effect(number: $0.job.number) })
    }
    try await stage.client.enqueue((0..<8).map { Once(number: $0) })
    try await stage.work(registry) { _ in try await stage.settled() }
    #expect(stage.ledger.pendingCount(in: Effect.queue) == 8 && stage.ledger.dead.isEmpty)
    #expect(late.entries.allSatisfy { $0 == 1 })
  }

  // MARK: Refusals

  @Test func aPushHasNoUniqueKey() async throws {
    let options = JobOptions(uniqueKey: "a")
    await #expect(throws: InvalidJob.self) { try await stage.client.push(Once(number: 1), options: options) }
    await #expect(throws: InvalidJob.self) { try await stage.client.push([Once(number: 1)], options: options) }
    #expect(await stage.counts().ready == 0)
    #expect(try await stage.client.enqueue(Once(number: 1), options: options) != nil)
  }

  @Test func aKindHasOneHandler() async throws {
    var registry = Stage.Registry()
    registry.register(Numbered.self) { _, _ in }
    registry.registerTransaction(Numbered.self) { _, _ in }
    let worker = Worker(
      broker: stage.broker, ledger: stage.ledger, registry: registry, configuration: Stage.configuration(),
      logger: .quiet)
    let error = try #require(await #expect(throws: KindRegisteredTwice.self) { try await worker.run() })
    #expect(error.kind == Numbered.kind && "\(error)".contains("'test.numbered' is registered twice"))
  }
}
