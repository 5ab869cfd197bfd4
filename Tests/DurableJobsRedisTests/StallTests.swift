import DurableJobs
import DurableJobsRedis
import DurableJobsTesting
import Foundation
import HiredisClient
import JobsTestSupport
import Locking
import Logging
import PrivateServers
import ServiceLifecycle
import TestSupport
import Testing

/// Redis stalls, makes a backup or gets its first replica: each worker keeps its jobs, and each job runs once.
@Suite(.timeLimit(.minutes(5)), .serialized) struct StallTests {
  private struct Slow: Job {
    static let kind: JobKind = "test.slow"
    var number: Int
  }

  /// Runs two workers with jobs in progress, calls `disturb` with their Redis, and expects that each job begins once,
  /// at its first attempt, and that no lease ends.
  private func undisturbed(_ disturb: @Sendable (PrivateRedis) async throws -> Void) async throws {
    var options = PrivateRedis.Options()
    options.port = 0
    let server = try await PrivateRedis.start(options: options)
    let isOpen = Locked(false)
    let begun = Locked<[Int: [Int]]>([:])
    let log = Locked<[String]>([])
    try await RedisFixture.with(server: server) { fixture in
      let ledger = InMemoryLedger()
      var registry = JobRegistry<InMemoryLedger>()
      registry.register(Slow.self) { job, context in
        begun.withLock { $0[job.number, default: []].append(context.attempt) }
        while !isOpen.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(10)) }
      }
      let known = registry
      @Sendable func worker() -> some Service {
        var configuration = WorkerConfiguration(queues: [.default: 8])
        configuration.heartbeat = .milliseconds(200)
        return Worker(
          broker: fixture.broker, ledger: ledger, registry: known, configuration: configuration,
          logger: Logger(label: "test") { _ in LogRecorder(log) })
      }
      let client = JobClient(broker: fixture.broker, ledger: ledger, logger: .quiet)
      try await RunningWorker.run(worker()) { _ in
        try await RunningWorker.run(worker()) { _ in
          for number in 0..<8 {
            try await client.enqueue(Slow(number: number))
            try await eventually("it runs") { begun.withLock { $0.count } == number + 1 }
          }
          // Long enough for the claims to be marked as begun.
          try await eventually("they are marked") {
            try await fixture.client.send(RedisCommand("HLEN", "\(fixture.prefix):{default}:begun")).int == 9
          }
          try await disturb(server)
          // Every consumer renews its lease, and checks which server it is, more than once.
          let beats = try await fixture.client.commandCounts()["info", default: 0]
          try await eventually("the workers have asked who the server is") {
            try await fixture.client.commandCounts()["info", default: 0] > beats + 2
          }
          isOpen.withLock { $0 = true }
          try await eventually("all are done") {
            try await fixture.broker.depth(of: .default).claimed == 0 && ledger.pendingCount == 0
          }
        }
      }
    }
    await server.stop()
    #expect(begun.withLock { $0 } == Dictionary(uniqueKeysWithValues: (0..<8).map { ($0, [1]) }))
    let lost = log.withLock { $0.filter { $0.contains("the lease was lost") } }
    #expect(lost.isEmpty, "\(lost)")
  }

  @Test(arguments: [4.5, 9.5]) func aStallEndsNoLease(seconds: Double) async throws {
    try await undisturbed { server in
      await server.freeze()
      // The stall itself.
      try await Task.sleep(for: .seconds(seconds))
      await server.thaw()
    }
  }

  @Test func aBackupEndsNoLease() async throws {
    try await undisturbed { server in
      let file = FileManager.default.temporaryDirectory.appending(path: "backup-\(JobID.next()).rdb").path
      let backup = ServerProcess.Plan(
        program: try ServerPrograms.find("redis-cli"), arguments: ["-s", server.socket, "--rdb", file],
        log: "/dev/null", folder: "/")
      #expect(try await ServerProcess.run(backup) == 0)
      try FileManager.default.removeItem(atPath: file)
    }
  }

  @Test func aFirstReplicaEndsNoLease() async throws {
    try await undisturbed { server in
      var options = PrivateRedis.Options()
      options.replicaOf = server.port
      let replica = try await PrivateRedis.start(options: options)
      try await eventually("the replica is in step") {
        try await server.run("INFO", "replication").contains("state=online")
      }
      await replica.stop()
    }
  }
}
