import DurableJobs
import DurableJobsTesting
import JobsTestSupport
import TestSupport
import Testing

/// Handlers that discard their jobs.
@Suite(.timeLimit(.minutes(5))) struct DiscardTests {
  private struct Gone: Error {}

  private let stage = Stage()

  @Test func aDiscardedJobIsRecordedAndNotRetried() async throws {
    let attempts = Journal<Int>()
    var registry = Stage.Registry()
    registry.register(Numbered.self) { _, context in
      attempts.note(context.attempt)
      if context.attempt == 1 { throw Gone() }
      throw JobDiscard("the order was deleted")
    }
    let id = try await stage.work(registry) { _ in
      let id = try await stage.client.enqueue(Numbered(number: 1), options: JobOptions(uniqueKey: "k"))
      try await stage.settled()
      return try #require(id)
    }
    #expect(attempts.entries == [1, 2] && stage.ledger.dead.isEmpty)
    let ended = try #require(stage.ledger.ended.first)
    #expect(ended.state == .discarded && ended.record.id == id && ended.record.attempts == 2)
    #expect(ended.record.failures.map(\.error) == ["Gone()", "the order was deleted"])
    #expect(try await stage.client.enqueue(Numbered(number: 2), options: JobOptions(uniqueKey: "k")) != nil)
  }

  @Test func aDiscardedPushIsRecordedToo() async throws {
    var registry = Stage.Registry()
    registry.register(Numbered.self) { _, _ in throw JobDiscard("unwanted") }
    try await stage.work(registry) { _ in
      try await stage.client.push(Numbered(number: 1))
      try await eventually("it is recorded") { stage.ledger.ended.count == 1 }
      try await stage.settled()
    }
    #expect(stage.ledger.ended.map(\.state) == [.discarded] && stage.ledger.dead.isEmpty)
  }

  @Test func theTransactionIsRolledBack() async throws {
    var registry = Stage.Registry()
    registry.registerTransaction(Numbered.self) { job, transaction in
      try await transaction.enqueue(Effect(number: job.number))
      throw JobDiscard("unwanted")
    }
    try await stage.work(registry) { _ in
      try await stage.client.enqueue(Numbered(number: 1))
      try await stage.settled()
    }
    #expect(stage.ledger.pendingCount(in: Effect.queue) == 0 && stage.ledger.ended.map(\.state) == [.discarded])
  }

  @Test(arguments: [false, true]) func oneOfABatchIsDiscarded(isOpen: Bool) async throws {
    var registry = Stage.Registry()
    if isOpen {
      registry.registerBatch(Numbered.self, upTo: 10) { (batch: JobBatch<Numbered, InMemoryLedger>) in
        for job in batch.jobs where job.job.number == 3 { batch.fail(job, JobDiscard("unwanted")) }
        try await batch.transaction(ending: batch.jobs.filter { $0.job.number != 3 }) { live, transaction in
          try await transaction.enqueue(live.map { Effect(number: $0.job.number) })
        }
      }
    } else {
      registry.registerBatch(Numbered.self, upTo: 10) { jobs, transaction in
        if jobs.contains(where: { $0.job.number == 3 }) { throw JobDiscard("unwanted") }
        try await transaction.enqueue(jobs.map { Effect(number: $0.job.number) })
      }
    }
    try await stage.client.enqueue((0..<8).map { Numbered(number: $0) })
    try await stage.work(registry) { _ in try await stage.settled() }
    #expect(stage.ledger.pendingCount(in: Effect.queue) == 7 && stage.ledger.dead.isEmpty)
    #expect(stage.ledger.ended.map(\.state) == [.discarded])
  }
}
