import DurableJobs
import DurableJobsRedis
import DurableJobsTesting
import HiredisClient
import JobsTestSupport
import PrivateServers
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct OutageTests {
  private struct Numbered: Job {
    static let kind: JobKind = "test.numbered"
    var number: Int
  }

  private struct Effect: Job {
    static let kind: JobKind = "test.effect"
    static let queue: QueueName = "effects"
    var number: Int
  }

  /// Runs 2,000 jobs on two workers, with `disturb` in the middle, and expects each effect once.
  private func run(_ server: PrivateRedis, disturb: @Sendable (RedisFixture) async throws -> Void) async throws {
    try await RedisFixture.with(server: server) { fixture in
      let ledger = InMemoryLedger()
      var registry = JobRegistry<InMemoryLedger>()
      registry.register(Numbered.self) { job, context in
        for _ in 0..<20 { await Task.yield() }
        try await context.transaction { try await $0.enqueue(Effect(number: job.number)) }
      }
      let handlers = registry
      @Sendable func worker() -> Worker<RedisBroker, InMemoryLedger> {
        var configuration = WorkerConfiguration(queues: [.default: 8])
        configuration.lease = .milliseconds(1000)
        configuration.heartbeat = .milliseconds(100)
        configuration.relayInterval = .milliseconds(500)
        configuration.relayAge = .milliseconds(200)
        return Worker(
          broker: fixture.broker, ledger: ledger, registry: handlers, configuration: configuration, logger: .quiet)
      }
      let client = JobClient(broker: fixture.broker, ledger: ledger, logger: .quiet)
      try await RunningWorker.run(worker()) { _ in
        try await RunningWorker.run(worker()) { _ in
          try await client.enqueue((0..<2000).map { Numbered(number: $0) })
          try await disturb(fixture)
          try await client.enqueue((2000..<2500).map { Numbered(number: $0) })
          try await eventually("all jobs are done", within: .seconds(300)) { ledger.pendingCount(in: .default) == 0 }
          try await eventually("the broker is through as well") {
            let depth = try await fixture.broker.depth(of: .default)
            return depth.ready + depth.claimed + depth.delayed == 0
          }
        }
      }
      let ids = ledger.pendingIDs(queue: Effect.queue, after: nil, before: JobID(high: .max, low: 0), limit: 10_000)
      let effects = try ledger.records(ids, queue: Effect.queue).map {
        try Effect(payload: $0.payload, version: 1).number
      }
      #expect(effects.sorted() == Array(0..<2500))
      #expect(ledger.dead.isEmpty)
    }
    await server.stop()
  }

  @Test func losingAllMemoryUnderWorkLosesNoJob() async throws {
    try await run(try await PrivateRedis.start()) { fixture in
      for _ in 0..<3 {
        _ = try await fixture.client.send(RedisCommand("FLUSHALL"))
        try await eventually("somebody has joined anew") {
          try await fixture.broker.depth(of: .default).workers > 0
        }
      }
    }
  }

  @Test func aServerThatDiesAndComesBackEmptyLosesNoJob() async throws {
    let server = try await PrivateRedis.start()
    try await run(server) { _ in
      await server.kill9()
      try await server.start()
    }
  }

  @Test func aServerThatStandsStillLongerThanTheLeasesLosesNoJob() async throws {
    let server = try await PrivateRedis.start()
    try await run(server) { _ in
      await server.freeze()
      // The length of the freeze is under test: twice the lease.
      try await Task.sleep(for: .seconds(2))
      await server.thaw()
    }
  }

  @Test func connectionsThatAreCutLoseNoJob() async throws {
    try await run(try await PrivateRedis.start()) { fixture in
      for _ in 0..<20 {
        _ = try await fixture.client.send(RedisCommand("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"))
        for _ in 0..<50 { await Task.yield() }
      }
    }
  }
}
