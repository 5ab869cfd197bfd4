import DurableJobs
import DurableJobsRedis
import DurableJobsTesting
import HiredisClient
import JobsTestSupport
import Locking
import PrivateServers
import TestSupport
import Testing

/// A master is killed under load, with sentinels and in a cluster: no job is lost, and the delay is printed.
@Suite(.timeLimit(.minutes(5)), .serialized) struct FailoverTests {
  private struct Numbered: Job {
    static let kind: JobKind = "test.numbered"
    var number: Int
  }

  private struct Effect: Job {
    static let kind: JobKind = "test.effect"
    static let queue: QueueName = "effects"
    var number: Int
  }

  /// When each job was enqueued, and when its effect was first committed.
  private final class Delays: Sendable {
    private struct Times {
      var asked: [Int: ContinuousClock.Instant] = [:]
      var longest = Duration.zero
      var done: Set<Int> = []
    }
    private let times = Locked(Times())

    func ask(_ numbers: Range<Int>) {
      let now = ContinuousClock.now
      times.withLock { times in for number in numbers { times.asked[number] = now } }
    }

    func end(_ number: Int) {
      let now = ContinuousClock.now
      times.withLock { times in
        guard times.done.insert(number).inserted, let asked = times.asked[number] else { return }
        times.longest = max(times.longest, now - asked)
      }
    }

    var longest: Duration { times.withLock { $0.longest } }
    var doneCount: Int { times.withLock { $0.done.count } }
  }

  /// Handlers wait here while it is closed.
  private final class Barrier: Sendable {
    private let closed = Locked(false)
    func close() { closed.withLock { $0 = true } }
    func open() { closed.withLock { $0 = false } }
    func pass() async throws { while closed.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) } }
  }

  private static let queues: [QueueName] = ["a", "b", "c", "d", "e", "f"]

  /// Enqueues jobs in six queues continuously, on two workers; `disturb` strikes in the middle. Expects each effect
  /// once.
  private func run(
    _ url: String, _ what: String, disturb: @escaping @Sendable (RedisFixture, Delays, Barrier) async throws -> Void
  ) async throws {
    try await RedisFixture.with(url: url) { fixture in
      let ledger = InMemoryLedger()
      let (delays, barrier) = (Delays(), Barrier())
      var registry = JobRegistry<InMemoryLedger>()
      registry.register(Numbered.self) { job, context in
        try await barrier.pass()
        try await context.transaction { try await $0.enqueue(Effect(number: job.number)) }
        delays.end(job.number)
      }
      let handlers = registry
      @Sendable func worker() -> Worker<RedisBroker, InMemoryLedger> {
        let configuration = WorkerConfiguration(queues: Dictionary(uniqueKeysWithValues: Self.queues.map { ($0, 4) }))
        return Worker(
          broker: fixture.broker, ledger: ledger, registry: handlers, configuration: configuration, logger: .quiet)
      }
      let client = JobClient(broker: fixture.broker, ledger: ledger, logger: .quiet)
      let asked = Locked(0)
      let isOver = Locked(false)
      try await RunningWorker.run(worker()) { _ in
        try await RunningWorker.run(worker()) { _ in
          try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
              var number = 0
              while !isOver.withLock({ $0 }) {
                for queue in Self.queues {
                  let numbers = number..<number + 5
                  delays.ask(numbers)
                  // The ledger has them whatever happens to the push, and the app does not wait for the push.
                  try await client.transaction { transaction in
                    try await transaction.enqueue(
                      numbers.map { Numbered(number: $0) }, options: JobOptions(queue: queue))
                  }
                  number += 5
                }
                asked.withLock { $0 = number }
                try await Task.sleep(for: .milliseconds(10))
              }
            }
            try await eventually("jobs are done") { delays.doneCount > 500 }
            try await disturb(fixture, delays, barrier)
            let (done, struck) = (delays.doneCount, asked.withLock { $0 })
            // Late enough that every queue works again.
            try await eventually("jobs are done again", within: .seconds(120)) {
              delays.doneCount > done + 500 && asked.withLock { $0 } > struck + 500
            }
            isOver.withLock { $0 = true }
            try await group.waitForAll()
          }
          do {
            try await eventually("all jobs are done", within: .seconds(120)) {
              Self.queues.allSatisfy { ledger.pendingCount(in: $0) == 0 }
            }
          } catch {
            for queue in Self.queues {
              let ids = ledger.pendingIDs(queue: queue, after: nil, before: JobID(high: .max, low: 0), limit: 1_000_000)
              if ids.isEmpty { continue }
              let unknown = try await fixture.broker.missing(ids, in: queue)
              let depth = try await fixture.broker.depth(of: queue)
              Issue.record("\(queue): \(ids.count) jobs are pending, \(unknown.count) of them unknown; \(depth)")
            }
            throw error
          }
          print("\(what): \(asked.withLock { $0 }) jobs, none later than \(delays.longest)")
          // Jobs settled before the failover and forgotten by it are settled again.
          try await eventually("the broker is through as well") {
            for queue in Self.queues {
              let depth = try await fixture.broker.depth(of: queue)
              if depth.ready + depth.claimed + depth.delayed > 0 { return false }
            }
            return true
          }
        }
      }
      let ids = ledger.pendingIDs(queue: Effect.queue, after: nil, before: JobID(high: .max, low: 0), limit: 1_000_000)
      let effects = try ledger.records(ids, queue: Effect.queue).map {
        try Effect(payload: $0.payload, version: 1).number
      }
      #expect(effects.sorted() == Array(0..<asked.withLock { $0 }))
      #expect(ledger.dead.isEmpty)
    }
  }

  @Test func aMasterUnderSentinelsIsKilled() async throws {
    let group = try await PrivateSentinels.start()
    try await run(group.url, "sentinel, master killed") { _, _, _ in await group.servers[0].kill9() }
    await group.stop()
  }

  @Test func aMasterUnderSentinelsStandsStill() async throws {
    let group = try await PrivateSentinels.start()
    try await run(group.url, "sentinel, master frozen") { _, _, _ in await group.servers[0].freeze() }
    await group.stop()
  }

  @Test func aMasterOfAClusterIsKilled() async throws {
    let cluster = try await PrivateRedisCluster.start()
    try await run(cluster.url, "cluster, master killed") { _, _, _ in await cluster.nodes[0].kill9() }
    await cluster.stop()
  }

  /// The replica lacks writes when its master dies: here it is made to miss the last five hundred jobs.
  @Test func aReplicaThatLacksTheLastWritesTakesOver() async throws {
    let group = try await PrivateSentinels.start(replicas: 1)
    try await run(group.url, "sentinel, last writes lost") { fixture, delays, barrier in
      // The replica knows of claims in every queue but not of their completion: each worker would keep holding finished
      // jobs.
      barrier.close()
      try await eventually("nothing more is claimed, and the replica knows what is") {
        for queue in Self.queues {
          if try await fixture.broker.depth(of: queue).ready < 20 { return false }
          let claims = try await group.servers[1].run("XPENDING", "\(fixture.prefix):{\(queue)}:normal", "workers")
          if claims.hasPrefix("0") { return false }
        }
        return true
      }
      // Frozen and disconnected, the replica gets nothing while the master continues; then the master is gone, and the
      // replica continues alone. Without the disconnect it would still receive the buffered writes when it resumes.
      await group.servers[1].freeze()
      try await group.servers[0].run("CLIENT", "KILL", "TYPE", "replica")
      barrier.open()
      let done = delays.doneCount
      try await eventually("the master goes on without it") { delays.doneCount > done + 500 }
      await group.servers[0].kill9()
      await group.servers[1].thaw()
    }
    await group.stop()
  }

  @Test func queuesOfAClusterMoveUnderLoad() async throws {
    // The timeout keeps a busy machine from having a master declared dead.
    let cluster = try await PrivateRedisCluster.start(nodeTimeout: 15_000)
    try await run(cluster.url, "cluster, slots moved") { fixture, _, _ in
      for queue in Self.queues.prefix(3) {
        let key = "{\(queue)}"
        let slot = try #require(Int(try await cluster.nodes[0].run("CLUSTER", "KEYSLOT", key)))
        let from = try #require(try await cluster.master(of: slot, seenBy: 0))
        try await cluster.move(slot, from: from, to: (from + 1) % 3)
      }
    }
    await cluster.stop()
  }

  @Test func queuesAreSpreadOverTheMastersAndAllOfOneIsOnOne() async throws {
    let cluster = try await PrivateRedisCluster.start()
    try await RedisFixture.with(url: cluster.url) { fixture in
      let queues = (0..<60).map { QueueName(rawValue: "queue-\($0)") }
      for queue in queues {
        try await fixture.broker.push([
          .test(queue: queue), .test(queue: queue, priority: .high, isDurable: false),
          .test(queue: queue, runAt: .max / 1_000_000),
        ])
      }
      for queue in queues {
        let depth = try await fixture.broker.depth(of: queue)
        #expect(depth.ready == 2 && depth.delayed == 1)
      }
      let sizes = try await fixture.client.sendToMasters([RedisCommand("DBSIZE")]).compactMap { $0.replies[0].int }
      #expect(sizes.count == 3 && sizes.allSatisfy { $0 > 30 }, "\(sizes)")
      // A push with jobs of several queues goes to several masters.
      try await fixture.broker.push(queues.map { .test(queue: $0) })
      for queue in queues { #expect(try await fixture.broker.depth(of: queue).ready == 3) }
    }
    await cluster.stop()
  }

  @Test func oneMasterThatEvictsIsEnoughToRefuse() async throws {
    let cluster = try await PrivateRedisCluster.start(replicasEach: 0)
    try await cluster.nodes[1].run("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    let error = await #expect(throws: BrokerError.self) {
      try await RedisFixture.with(url: cluster.url) { _ in }
    }
    #expect(error?.code == .unsafeConfiguration)
    #expect(error?.message.contains("127.0.0.1:\(cluster.nodes[1].port ?? 0)") == true, "\(error?.message ?? "")")
    await cluster.stop()
  }
}
