import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import HiredisClient
import LibPQClient
import Logging
import PrivateServers
import ProgramTestSupport
import Reactor
import Social
import TestSupport
import Testing

/// A stack with followers, posts being fanned out to them, jobs whose effects are counted, and separate worker
/// processes: the setting for the disasters.
struct Scene: Sendable {
  let stack: TestStack
  private let workers = Workers()

  /// The queue of `TestWorker`'s own job.
  static let effects: QueueName = "effects"
  private static let effectKind: JobKind = "test.count-effect"

  /// Runs `body` on a stack with three authors of 5, 400 and 25,000 followers, then stops all workers.
  static func play(
    server: PrivatePostgres? = nil, postgresURL: String? = nil,
    redis: PrivateRedis.Options = PrivateRedis.Options(), redisURL: String? = nil,
    _ body: @Sendable (Scene) async throws -> Void
  ) async throws {
    try await TestStack.with(
      server: server, postgresURL: postgresURL, redis: redis, redisURL: redisURL
    ) { stack in
      let scene = Scene(stack: stack)
      try await scene.populate()
      do {
        try await body(scene)
      } catch {
        for (worker, errors) in await scene.workers.end() { Issue.record("\(worker): \(errors)") }
        throw error
      }
      _ = await scene.workers.end()
    }
  }

  private func populate() async throws {
    try await stack.pool.execute(
      """
      CREATE TABLE effects (
        number bigint NOT NULL, worker text DEFAULT current_setting('test.worker', true),
        at timestamptz NOT NULL DEFAULT clock_timestamp())
      """)
    try await stack.pool.execute(
      "INSERT INTO accounts (username) SELECT 'a' || i FROM generate_series(1, 25003) i", timeout: .seconds(60))
    try await stack.pool.execute(
      """
      INSERT INTO follows (follower_id, followee_id)
      SELECT f.id, a.id FROM (VALUES ('a1', 5), ('a2', 400), ('a3', 25000)) AS author (author, followers)
      JOIN accounts a ON a.username = author
      JOIN LATERAL (SELECT id FROM accounts WHERE id <> a.id ORDER BY id LIMIT followers) f ON true
      ORDER BY 2, 1
      """, timeout: .seconds(60))
  }

  // MARK: Work

  /// Enqueues jobs whose effects are counted.
  ///
  /// - Parameter gate: the gate at which each of them waits in its transaction.
  func askForEffects(_ numbers: Range<Int>, gate: Gate? = nil) async throws {
    let records = numbers.map { number in
      let payload = gate.map { #"{"number":\#(number),"gate":\#($0.key)}"# } ?? #"{"number":\#(number)}"#
      return JobRecord(kind: Self.effectKind, queue: Self.effects, payload: Array(payload.utf8), isDurable: true)
    }
    _ = try await stack.client.transaction { try await $0.add(records) }
  }

  /// Makes each effect take this long.
  func slowEffects(milliseconds: Int) async throws {
    try await stack.pool.execute(
      """
      CREATE FUNCTION take_time() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_sleep(TG_ARGV[0]::double precision / 1000); RETURN NEW; END'
      """)
    try await stack.pool.execute(
      "CREATE TRIGGER slow BEFORE INSERT ON effects FOR EACH ROW EXECUTE FUNCTION take_time('\(unescaped: "\(milliseconds)")')"
    )
  }

  /// Posts as each of the three authors, `rounds` times.
  func post(rounds: Int = 1) async throws {
    for _ in 0..<rounds {
      for name in ["a1", "a2", "a3"] {
        _ = try await stack.client.transaction { transaction in
          let author = try await Accounts.id(of: name, in: transaction.sql)
          return try await Posts.create(try PostDraft(title: "News of \(name)"), by: author, in: transaction).id
        }
      }
    }
  }

  /// Starts a worker and waits until it serves.
  ///
  /// - Parameter name: stored with the effects of its jobs.
  func startWorker(
    _ name: String = "", concurrency: Int = 4, claimsAhead: Bool = false, acknowledgeGate: Gate? = nil,
    tickEvery: Int? = nil, clockAhead: Int? = nil
  ) async throws -> TestWorkerProcess {
    // A killed worker counts until its lease ends, which may be before this one serves.
    var fewest = try await stack.broker.depth(of: Self.effects).workers
    var arguments = ["--worker-concurrency", String(concurrency)]
    if claimsAhead { arguments.append("--claims-ahead") }
    if let acknowledgeGate { arguments += ["--acknowledge-gate", String(acknowledgeGate.key)] }
    if let tickEvery { arguments += ["--tick-every", String(tickEvery)] }
    if let clockAhead { arguments.append("--clock-ahead=\(clockAhead)") }
    let program = try BuiltProgram("TestWorker").start(arguments, environment: settings(named: name))
    let worker = TestWorkerProcess(program)
    await workers.add(worker)
    try await eventually("a worker serves") {
      let workers = try await stack.broker.depth(of: Self.effects).workers
      fewest = min(fewest, workers)
      return workers > fewest
    }
    return worker
  }

  private func settings(named name: String) -> [String: String] {
    if name.isEmpty { return stack.settings }
    let separator = stack.postgresURL.contains("?") ? "&" : "?"
    return stack.settings.merging(
      ["FANMILL_POSTGRES_URL": "\(stack.postgresURL)\(separator)options=-c%20test.worker%3D\(name)"]) { $1 }
  }

  // MARK: What is seen

  /// The number of sessions waiting for `gate`.
  func waiting(at gate: Gate) async throws -> Int {
    try await stack.count(
      """
      SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
        AND (classid::bigint << 32 | objid::bigint) = \(gate.key)
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      """)
  }

  /// The server processes waiting for `gate`.
  func sessions(waitingAt gate: Gate) async throws -> Set<Int> {
    Set(
      try await stack.pool.query(
        """
        SELECT pid::bigint FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
          AND (classid::bigint << 32 | objid::bigint) = \(gate.key)
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        """
      ).decode(Int.self))
  }

  func pending() async throws -> Int { try await stack.count("SELECT count(*) FROM jobs") }
  func effects() async throws -> Int { try await stack.count("SELECT count(*) FROM effects") }
  func effects(of worker: String) async throws -> Int {
    try await stack.count("SELECT count(*) FROM effects WHERE worker = \(worker)")
  }
  func claimed() async throws -> Int { try await stack.broker.depth(of: Self.effects).claimed }

  /// Waits until everything is done, and checks every promise: nothing pending or dead, each effect exactly once, every
  /// feed exact.
  ///
  /// - Parameter asked: the number of effects enqueued, numbered from 0.
  func expectAllDoneOnce(_ asked: Int, location: SourceLocation = #_sourceLocation) async throws {
    try await eventually("all jobs are done", within: .seconds(150)) { try await pending() == 0 }
    #expect(try await stack.count("SELECT count(*) FROM dead_jobs") == 0, sourceLocation: location)
    let numbers = try await stack.pool.query("SELECT number FROM effects ORDER BY number").decode(Int.self)
    #expect(numbers == Array(0..<asked), "each effect once", sourceLocation: location)
    let audit = try await FeedAudit.run(on: stack.pool)
    #expect(audit.isExact && audit.expected > 0, "\(audit)", sourceLocation: location)
    #expect(audit.pending == 0, sourceLocation: location)
    // The broker forgets finished jobs too: jobs delivered twice are acknowledged by the worker that had them last.
    try await eventually("the broker is empty") {
      for queue in [Self.effects, SocialJobs.fanOutQueue, SocialJobs.bulkQueue] {
        let left = try await stack.broker.depth(of: queue)
        if left.ready + left.claimed + left.delayed > 0 { return false }
      }
      return true
    }
  }
}

/// A running `TestWorker`.
final class TestWorkerProcess: Sendable {
  let program: RunningProgram

  init(_ program: RunningProgram) { self.program = program }

  /// Kills it, as a crash does.
  func kill() { program.send(SIGKILL) }
  func freeze() { program.send(SIGSTOP) }
  func wake() { program.send(SIGCONT) }
  /// Asks it to stop, as a restart does.
  func stop() { program.send(SIGTERM) }
}

/// All workers of a scene.
private actor Workers {
  private var all: [TestWorkerProcess] = []

  func add(_ worker: TestWorkerProcess) { all.append(worker) }

  /// Stops them in order.
  ///
  /// - Returns: the log of each.
  func end() async -> [(String, String)] {
    for worker in all {
      worker.wake()
      worker.program.send(SIGTERM)
    }
    var logs: [(String, String)] = []
    for worker in all { logs.append(("worker \(worker.program.pid)", await worker.program.outcome().errors)) }
    all = []
    return logs
  }
}

/// An advisory lock held by the test: jobs that reach it wait until `open`.
actor Gate {
  nonisolated let key: Int
  private var connection: PostgresConnection?

  private init(key: Int, connection: PostgresConnection) {
    self.key = key
    self.connection = connection
  }

  /// A closed gate.
  static func closed(_ key: Int, in scene: Scene) async throws -> Gate {
    let connection = try await PostgresConnection.connect(
      try PostgresConfiguration(url: scene.stack.postgresURL), loop: .tests, logger: .quiet)
    try await connection.execute("SELECT pg_advisory_lock(\(key))")
    return Gate(key: key, connection: connection)
  }

  func open() async {
    await connection?.close()
    connection = nil
  }
}
