import Bootstrap
import DurableJobs
import DurableJobsAdmin
import Foundation
import HiredisClient
import LibPQClient
import LocalStack
import PrivateServers
import ProgramTestSupport
import Social
import SocialAdmin
import TestSupport
import Testing

/// A worker opens as many connections as the documentation says, with every queue busy.
@Suite("A worker's connections", .timeLimit(.minutes(5)), .serialized)
struct WorkerConnectionTests {
  /// Jobs in each of the app's queues, more than a worker has slots, each using a table that can be locked.
  private func fill(_ stack: TestStack) async throws {
    let numbers = 1...40
    let client = stack.client
    try await client.enqueue(numbers.map { _ in SessionSweep() })
    try await client.enqueue(numbers.map { PostFanOut(post: $0, author: 1) })
    try await client.enqueue(numbers.map { RemovePostFromFeeds(post: $0, author: 1) })
    try await client.enqueue(numbers.map { NotificationRetention(after: $0) })
    // Two kinds, each with its own batch.
    try await client.enqueue(numbers.map { HeartCount(celeb: 1, fan: $0, at: 1) })
    try await client.enqueue(numbers.map { FanCount(celeb: 1, fan: $0, since: 1, change: 1, at: 1) })
    try await client.enqueue(numbers.map { RankingRefresh(depth: $0) })
    try await client.enqueue(numbers.map { PasswordResetMail(account: $0) })
    try await client.enqueue(numbers.map { _ in LookupUpkeep() })
    try await client.enqueue(numbers.map { WebhookSweep(days: $0) })
  }

  private static let tables = [
    "sessions", "posts", "follows", "notification_counts", "celebs", "ranking_snapshots", "accounts", "lookups",
    "webhook_events",
  ]

  /// Opens a session whose transaction locks tables until it is closed.
  private func lock(_ tables: [String], _ stack: TestStack) async throws -> PostgresConnection {
    let connection = try await PostgresConnection.connect(
      try PostgresConfiguration(url: stack.postgresURL), loop: .tests, logger: .quiet)
    try await connection.execute("BEGIN")
    try await connection.execute("LOCK TABLE \(unescaped: tables.joined(separator: ", ")) IN ACCESS EXCLUSIVE MODE")
    return connection
  }

  /// Starts a worker with its health port, and runs `body` with the worker's name in the directory.
  private func work(
    on stack: TestStack, port: Int, _ settings: [String: String] = [:],
    _ body: (RunningProgram, String) async throws -> Void
  ) async throws {
    let worker = try BuiltProgram("fanmill-worker").start(
      environment: stack.settings.merging([
        "FANMILL_HOST": "127.0.0.1", "FANMILL_WORKER_PORT": "\(port)", "FANMILL_YOUTUBE_KEYS": "a-key",
        "FANMILL_YOUTUBE_URL": "http://127.0.0.1:1", "FANMILL_MAIL_URL": "smtp://127.0.0.1:1",
        "FANMILL_MAIL_FROM": "a@example.org", "FANMILL_PASSWORD_RESET_URL": "https://a.example.org/{token}",
      ]) { $1 }.merging(settings) { $1 })
    do {
      try await eventually("the worker reports") { try await stack.count("SELECT count(*) FROM workers") == 1 }
      try await body(worker, try await stack.pool.query("SELECT name FROM workers")[0].decode(String.self))
    } catch {
      Issue.record("\(worker.errorsSoFar)")
      worker.send(SIGKILL)
      throw error
    }
    worker.send(SIGKILL)
  }

  private func sessions(of name: String, _ stack: TestStack, waiting: Bool = false) async throws -> Int {
    try await stack.count(
      """
      SELECT count(*) FROM pg_stat_activity WHERE application_name = left(\(name), 63)
        AND (NOT \(waiting) OR wait_event_type = 'Lock')
      """)
  }

  private func isReady(_ health: LoopbackHTTP) -> Bool {
    do { return try health.send("GET", "/readyz").status == 200 } catch { return false }
  }

  private func metrics(_ health: LoopbackHTTP) throws -> String {
    String(decoding: try health.send("GET", "/metrics").body, as: UTF8.self)
  }

  private func redisConnections(_ stack: TestStack) async throws -> Int {
    let list = try await stack.redisClient.send(RedisCommand("CLIENT", "LIST")).text ?? ""
    return list.split(separator: "\n").count { $0.contains(" name=fanmill-worker ") }
  }

  @Test("All queues at work: there are as many connections as documented", .timeLimit(.minutes(4)))
  func underLoad() async throws {
    let size = try Settings.read(environment: [:]).workerSize(known: JobKinds.app.queues)
    let (most, busy) = (size.connections.total, size.connections.jobs)
    try await TestStack.with { stack in
      let port = try FreePort.find()
      let holder = try await lock(Self.tables, stack)
      try await fill(stack)
      try await work(on: stack, port: port) { _, name in
        // The health checks open their connection on the first request.
        let health = LoopbackHTTP(port: port)
        try await eventually("it is ready") { isReady(health) }
        var seen = 0
        try await eventually("as many jobs as have a connection wait for a table") {
          seen = max(seen, try await sessions(of: name, stack))
          return try await sessions(of: name, stack, waiting: true) >= busy
        }
        #expect(try metrics(health).contains("fanmill_postgres_pool_size \(size.connections.pool)\n"))
        try await eventually("a connection to Redis for each queue, and one that all share") {
          try await redisConnections(stack) == size.redisConnections
        }
        // From now on each use of the ledger takes one of the remaining connections, and later ones wait.
        async let ledger = lock(["jobs.jobs"], stack)
        try await eventually("the ledger's lock is asked for") {
          try await stack.count(
            "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'jobs.jobs'::regclass AND mode = 'AccessExclusiveLock'"
          ) == 1
        }
        await holder.close()
        let locked = try await ledger
        try await eventually("all connections are in use, and no more than are documented") {
          seen = max(seen, try await sessions(of: name, stack))
          return seen >= most
        }
        #expect(seen == most)
        try await eventually("Redis has no more connections than before") {
          try await redisConnections(stack) == size.redisConnections
        }
        await locked.close()
      }
    }
  }

  @Test("Slots and a pool that are set by hand and do not fit: the worker's log and the doctor say so")
  func setByHand() async throws {
    struct Findings: Decodable { var items: [Finding] }
    let settings = ["FANMILL_WORKER_CONCURRENCY": "16", "FANMILL_POSTGRES_POOL": "10"]
    let concurrency = try Settings.read(environment: settings).workerSize(known: JobKinds.app.queues).totalConcurrency
    try await TestStack.with { stack in
      func finding() async throws -> Finding? {
        try await CLI(stack)("doctor", "--json", "--migrations", TestStack.migrations).json(Findings.self).items
          .first { $0.name == "slots" }
      }
      #expect(try await finding()?.detail == "no worker is running")
      try await work(on: stack, port: try FreePort.find(), settings) { worker, name in
        let found = try await finding()
        #expect(found?.status == .warn)
        #expect(found?.detail == "\(name) has \(concurrency) for a pool of 10 connections")
        #expect(worker.errorsSoFar.contains("up to \(concurrency) jobs at once share 10 connections"))
      }
    }
  }
}
