import DurableJobs
import DurableJobsRedis
import DurableJobsTesting
import HiredisClient
import JobsTestSupport
import Locking
import PrivateServers
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct MemoryTests {
  private struct Heavy: Job {
    static let kind: JobKind = "test.heavy"
    var text: String
    init(_ count: Int) { text = String(repeating: "x", count: count) }
  }

  private struct Ordered: Job {
    static let kind: JobKind = "test.ordered"
    var number: Int
  }

  private func server(_ maxMemory: String?, policy: String = "noeviction") async throws -> PrivateRedis {
    var options = PrivateRedis.Options()
    options.maxMemory = maxMemory
    options.maxMemoryPolicy = policy
    return try await PrivateRedis.start(options: options)
  }

  @Test(arguments: ["allkeys-lru", "volatile-ttl", "allkeys-random"])
  func aServerThatEvictsIsRefused(_ policy: String) async throws {
    let server = try await server("64mb", policy: policy)
    let error = await #expect(throws: BrokerError.self) { try await RedisFixture.with(server: server) { _ in } }
    #expect(error?.code == .unsafeConfiguration)
    #expect(error?.message.contains("maxmemory-policy is '\(policy)'") == true)
    #expect(error?.message.contains("CONFIG SET maxmemory-policy noeviction") == true)
    await server.stop()
  }

  @Test func newJobsAreShedBeforeTheServerIsFullAndTheLedgersOnesArePushedLater() async throws {
    let server = try await server("12mb")
    try await RedisFixture.with(server: server) { fixture in
      let ledger = InMemoryLedger()
      let client = JobClient(broker: fixture.broker, ledger: ledger, logger: .quiet)
      var refusal: BrokerError?
      var pushed = 0
      while refusal == nil, pushed < 10_000 {
        do {
          try await client.push(Heavy(20_000))
          pushed += 1
        } catch let error as BrokerError {
          refusal = error
        }
      }
      #expect(refusal?.code == .full)
      // Jobs enqueued in the ledger are accepted all the same.
      let id = try await client.enqueue(Heavy(10))
      try await eventually("the broker refuses for good") {
        do {
          try await client.push(Heavy(10))
          return false
        } catch let error as BrokerError {
          return error.message.contains("maxmemory") && error.code == .full
        }
      }
      let pending = try await client.enqueue(Heavy(10))
      #expect(id != nil && pending != nil)
      #expect(try await fixture.broker.missing([pending].compactMap { $0 }, in: .default) == [pending])

      // Draining makes room, and the relay pushes the waiting jobs.
      var registry = JobRegistry<InMemoryLedger>()
      registry.register(Heavy.self) { _, _ in }
      var configuration = WorkerConfiguration(queues: [.default: 4])
      configuration.heartbeat = .milliseconds(100)
      configuration.relayInterval = .milliseconds(100)
      configuration.relayAge = .zero
      let worker = Worker(
        broker: fixture.broker, ledger: ledger, registry: registry, configuration: configuration, logger: .quiet)
      try await RunningWorker.run(worker) { _ in
        try await eventually("all is done") {
          let depth = try await fixture.broker.depth(of: .default)
          return ledger.pendingCount == 0 && depth.ready + depth.claimed == 0
        }
      }
      #expect(ledger.dead.isEmpty)
    }
    await server.stop()
  }

  @Test func whatWasRefusedIsNotOvertaken() async throws {
    let server = try await server("12mb")
    try await RedisFixture.with(server: server) { fixture in
      let ledger = InMemoryLedger()
      let client = JobClient(broker: fixture.broker, ledger: ledger, logger: .quiet)
      let heavy = JobOptions(queue: "heavy")
      func isRefusing() async throws -> Bool {
        do {
          try await client.push(Heavy(20_000), options: heavy)
          return false
        } catch let error as BrokerError where error.code == .full {
          return true
        }
      }
      try await eventually("the broker refuses") { try await isRefusing() }
      for number in 0..<50 { try await client.enqueue(Ordered(number: number)) }
      #expect(try await fixture.broker.depth(of: .default).ready == 0)
      // Room is available before the relay pushes.
      _ = try await fixture.broker.clear("heavy")
      try await eventually("the broker takes jobs") { try await !isRefusing() }
      for number in 50..<100 { try await client.enqueue(Ordered(number: number)) }
      #expect(try await fixture.broker.depth(of: .default).ready == 0, "newer ones wait behind the refused ones")
      try await client.push(Heavy(1), options: heavy)

      let journal = Locked<[Int]>([])
      var registry = JobRegistry<InMemoryLedger>()
      registry.register(Ordered.self) { job, _ in journal.withLock { $0.append(job.number) } }
      var configuration = WorkerConfiguration(queues: [.default: 1])
      configuration.heartbeat = .milliseconds(100)
      configuration.relayInterval = .milliseconds(100)
      let worker = Worker(
        broker: fixture.broker, ledger: ledger, registry: registry, configuration: configuration, logger: .quiet)
      try await RunningWorker.run(worker) { _ in
        try await eventually("all is done") { ledger.pendingCount == 0 }
        try await eventually("nothing is held") { try await fixture.broker.hold(of: .default) == nil }
        try await client.enqueue(Ordered(number: 100))
        #expect(try await fixture.broker.hold(of: .default) == nil)
        try await eventually("the last is done") { ledger.pendingCount == 0 }
      }
      #expect(journal.withLock { $0 } == Array(0...100))
    }
    await server.stop()
  }

  @Test func aFullServerStillLetsJobsEnd() async throws {
    let server = try await server("64mb")
    try await RedisFixture.with(server: server) { fixture in
      let consumer = try await fixture.broker.join(.default, worker: "a", lease: .seconds(120))
      let dead = try await fixture.broker.join(.default, worker: "dead", lease: .milliseconds(100))
      try await fixture.broker.push((0..<300).map { .test("\($0)", isDurable: $0 % 2 == 0) })
      let held = try await dead.claim(50, wait: .seconds(5))
      #expect(held.count == 50)
      // Below the current use: every command that needs memory is refused from now on.
      _ = try await fixture.client.send(RedisCommand("CONFIG", "SET", "maxmemory", "1"))
      for isDurable in [true, false] {
        let error = await #expect(throws: BrokerError.self) {
          try await fixture.broker.push([.test(isDurable: isDurable)])
        }
        #expect(error?.code == .full)
      }
      var claims: [Claim] = []
      try await eventually("200 jobs to claim") {
        claims += try await consumer.claim(200 - claims.count, wait: .milliseconds(50))
        return claims.count == 200
      }
      try await consumer.acknowledge(Array(claims[..<100]))
      try await consumer.retry(
        claims[100..<120].map { ClaimRetry(claim: $0, delay: .seconds(60), record: $0.record) })
      try await consumer.release(Array(claims[120..<140]))
      var reaped = 0
      try await eventually("the dead consumer's jobs are handed on") {
        reaped += try await consumer.heartbeat().reaped
        return reaped == 50
      }
      #expect(
        try await fixture.broker.depth(of: .default).counts
          == QueueCounts(ready: 120, claimed: 60, delayed: 20, workers: 1))
      let another = try await fixture.broker.join(.default, worker: "b", lease: .seconds(120))
      #expect(try await another.heartbeat().keptLease)
      try await another.leave()
      try await consumer.leave()
      #expect(
        try await fixture.broker.depth(of: .default).counts
          == QueueCounts(ready: 180, delayed: 20))
    }
    await server.stop()
  }
}
