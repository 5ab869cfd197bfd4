import DurableJobs
import DurableJobsTesting
import JobsTestSupport
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct StopTests {
  private let stage = Stage()

  @Test func whatRunsFinishesAndTheRestIsHandedBackAtOnce() async throws {
    let (hasBegun, mayEnd) = (Gate(), Gate())
    let journal = Journal<Int>()
    var registry = Stage.Registry()
    registry.register(Numbered.self) { job, context in
      hasBegun.open()
      try await mayEnd.wait()
      try await context.transaction { try await $0.enqueue(Effect(number: job.number)) }
      journal.note(job.number)
    }
    try await stage.client.enqueue((0..<3).map { Numbered(number: $0) })
    try await stage.work(registry, Stage.configuration(concurrency: 1, claimsAhead: true)) { worker in
      try await hasBegun.wait()
      try await eventually("the others wait in the worker") { await stage.counts().claimed == 3 }
      await worker.stop()
      try await eventually("what has not begun is handed back") { await stage.counts().ready == 2 }
      #expect(await stage.counts().claimed == 1)
      mayEnd.open()
    }
    #expect(journal.entries == [0])
    #expect(try stage.effects() == [0])
    #expect(await stage.counts() == QueueCounts(ready: 2))
    let next = await stage.broker.join(.default, worker: "next", lease: .seconds(60))
    #expect(await next.claim(2, wait: .zero).map(\.attempt) == [1, 1])
  }

  @Test(arguments: [false, true])
  func pastTheLimitJobsAreCancelledAndHandedBackButNotFailed(isBatch: Bool) async throws {
    let hasBegun = Gate()
    var registry = Stage.Registry()
    if isBatch {
      registry.registerBatch(Numbered.self, upTo: 10) { batch, transaction in
        try await transaction.enqueue(batch.map { Effect(number: $0.job.number) })
        hasBegun.open()
        try await Task.sleep(for: .seconds(3600))
      }
    } else {
      registry.register(Numbered.self) { _, _ in
        hasBegun.open()
        try await Task.sleep(for: .seconds(3600))
      }
    }
    var configuration = Stage.configuration()
    configuration.shutdownLimit = .milliseconds(30)
    try await stage.client.enqueue(Numbered(number: 1))
    try await stage.client.push(Numbered(number: 2))
    try await stage.work(registry, configuration) { worker in
      try await hasBegun.wait()
      await worker.stop()
    }
    #expect(await stage.counts() == QueueCounts(ready: 2))
    #expect(stage.ledger.dead.isEmpty)
    #expect(try stage.effects().isEmpty)
    let next = await stage.broker.join(.default, worker: "next", lease: .seconds(60))
    let claims = await next.claim(2, wait: .zero)
    #expect(claims.map(\.attempt) == [1, 1])
    #expect(claims.allSatisfy { stage.ledger.failures(of: $0.record.id).isEmpty })
  }

  @Test func aStopWhileNothingIsThereEndsTheWait() async throws {
    var registry = Stage.Registry()
    registry.register(Numbered.self) { _, _ in }
    try await stage.work(registry) { worker in
      try await eventually("the worker has joined") { await stage.counts().workers == 1 }
      await worker.stop()
    }
    #expect(await stage.counts().workers == 0)
  }

  @Test func aWorkerThatIsCutOffLeavesItsJobsToOthers() async throws {
    let hasBegun = Gate()
    var registry = Stage.Registry()
    registry.register(Numbered.self) { _, _ in
      hasBegun.open()
      try await Task.sleep(for: .seconds(3600))
    }
    try await stage.client.enqueue(Numbered(number: 1))
    try await stage.work(registry) { _ in try await hasBegun.wait() }
    #expect(stage.ledger.dead.isEmpty)
    var next = Stage.Registry()
    next.register(Numbered.self) { job, context in
      _ = try await context.transaction { try await $0.enqueue(Effect(number: job.number)) }
    }
    try await stage.work(next) { _ in try await stage.settled() }
    #expect(try stage.effects() == [1])
  }
}
