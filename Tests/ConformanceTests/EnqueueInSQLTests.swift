import DurableJobs
import DurableJobsPostgres
import DurableJobsTesting
import Foundation
import JobsTestSupport
import LibPQClient
import Locking
import PrivateServers
import TestSupport
import Testing

/// Jobs that other programs enqueue in SQL, in transactions of their own.
@Suite(.timeLimit(.minutes(5))) struct EnqueueInSQLTests {
  private struct Note: Job {
    static let kind: JobKind = "test.note"
    var text: String
  }

  /// What a worker ran, in order.
  private final class Notes: Sendable {
    private let list = Locked<[String]>([])
    var all: [String] { list.withLock { $0 } }
    func add(_ text: String) { list.withLock { $0.append(text) } }
  }

  /// A worker whose relay sweeps once an hour: only a notification brings it a job before that.
  private static func configuration(_ queues: [QueueName: Int] = [.default: 4]) -> WorkerConfiguration {
    var configuration = WorkerConfiguration(queues: queues)
    configuration.relayInterval = .hours(1)
    configuration.relayAge = .hours(1)
    return configuration
  }

  /// Runs `body` beside a worker on Redis that notes what it runs, once the worker listens.
  private static func work(
    _ fixture: PostgresLedgerFixture, _ body: @Sendable (Notes) async throws -> Void
  ) async throws {
    try await RedisFixture.with { redis in
      let notes = Notes()
      var registry = JobRegistry<PostgresLedger>()
      registry.register(Note.self) { job, context in
        notes.add(job.text)
        if job.text == "fails" { throw Failure() }
      }
      let worker = Worker(
        broker: redis.broker, ledger: fixture.ledger, registry: registry, configuration: configuration(),
        logger: .quiet)
      try await RunningWorker.run(worker) { _ in
        try await listening(fixture)
        try await body(notes)
      }
    }
  }

  private struct Failure: Error {}

  /// Waits for a session that listens.
  private static func listening(_ fixture: PostgresLedgerFixture) async throws {
    try await eventually("the relay listens") { try await listeners(fixture).count == 1 }
  }

  private static func listeners(_ fixture: PostgresLedgerFixture) async throws -> [Int] {
    try await fixture.pool.query(
      """
      SELECT pid FROM pg_stat_activity
      WHERE datname = current_database() AND state = 'idle' AND query LIKE 'LISTEN%durablejobs%'
      """
    ).decode(Int.self)
  }

  private static func count(_ table: String, in fixture: PostgresLedgerFixture) async throws -> Int {
    try await fixture.pool.query("SELECT count(*) FROM \(fixture.table(table))")[0].decode(Int.self)
  }

  private static let enqueue = PostgresIdentifier("enqueue", in: PostgresLedgerFixture.schema.name)

  private static func enqueue(_ text: String, on fixture: PostgresLedgerFixture) async throws {
    try await fixture.pool.execute(
      "SELECT \(enqueue)('test.note', jsonb_build_object('text', \(text)))")
  }

  /// Runs a program that is given the database's URL.
  ///
  /// - Returns: what it printed.
  private static func run(_ program: String, _ arguments: [String]) async throws -> String {
    let folder = FileManager.default.temporaryDirectory.appending(path: "fanmill-enqueue-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let log = folder.appending(path: "log")
    let status = try await ServerProcess.run(
      ServerProcess.Plan(program: program, arguments: arguments, log: log.path, folder: folder.path))
    let text = try String(contentsOf: log, encoding: .utf8)
    try #require(status == 0, "\(text)")
    try FileManager.default.removeItem(at: folder)
    return text
  }

  // MARK: Other programs

  @Test func psqlEnqueuesInItsTransaction() async throws {
    try await PostgresLedgerFixture.with { fixture in
      try await Self.work(fixture) { notes in
        _ = try await Self.run(
          try ServerPrograms.find("psql"),
          [
            fixture.url, "--quiet", "--set", "ON_ERROR_STOP=1", "--command",
            """
            BEGIN;
            SELECT \(Self.enqueue.sql)('test.note', '{"text": "rolled back"}');
            ROLLBACK;
            BEGIN;
            CREATE TABLE orders (id bigint);
            INSERT INTO orders VALUES (7);
            SELECT \(Self.enqueue.sql)('test.note', '{"text": "committed"}');
            COMMIT;
            """,
          ])
        try await eventually("the job has run") { notes.all.contains("committed") }
        try await eventually("nothing is pending") { try await fixture.ledger.allPendingIDs().isEmpty }
        #expect(notes.all == ["committed"])
        #expect(try await fixture.pool.query("SELECT id FROM orders").decode(Int.self) == [7])
      }
    }
  }

  @Test func aPythonClientEnqueuesInItsTransaction() async throws {
    let script = """
      import sys
      import psycopg

      function = 'SELECT \(Self.enqueue.sql)'

      def enqueue(text, **more):
          names = ''.join(f', {name} => %s' for name in more)
          row = connection.execute(
              function + "('test.note', jsonb_build_object('text', %s::text)" + names + ')',
              [text, *more.values()]).fetchone()
          return row[0]

      with psycopg.connect(sys.argv[1]) as connection:
          try:
              with connection.transaction():
                  enqueue('rolled back')
                  raise KeyError
          except KeyError:
              pass
          with connection.transaction():
              connection.execute('CREATE TABLE orders (id bigint)')
              first = enqueue('from python', unique_key='once', priority='high')
              assert first.version == 7, first
              assert enqueue('twice', unique_key='once') is None
      """
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
    let python = root.appending(path: ".build-tools/bin/python").path
    try #require(FileManager.default.isExecutableFile(atPath: python), "\(python) is missing: `make setup` installs it")
    try await PostgresLedgerFixture.with { fixture in
      try await Self.work(fixture) { notes in
        _ = try await Self.run(python, ["-c", script, fixture.url])
        try await eventually("the job has run") { notes.all.contains("from python") }
        try await eventually("nothing is pending") { try await fixture.ledger.allPendingIDs().isEmpty }
        #expect(notes.all == ["from python"])
      }
    }
  }

  // MARK: The function

  @Test func everyParameterReachesTheJob() async throws {
    try await PostgresLedgerFixture.with { fixture in
      let due = Date(unixMilliseconds: 4_000_000_000_123)
      let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-f0f067aa0ba902b7-00"
      let before = Date(unixMilliseconds: JobClock.milliseconds)
      let id = JobID(
        try await fixture.pool.query(
          """
          SELECT \(Self.enqueue)('a', '{"n":1}', queue => 'q', run_at => \(due), unique_key => 'k', priority => 'low',
            version => 3, max_attempts => 2, timeout => interval '1.5 s', traceparent => \(traceparent))
          """)[0].decode(PostgresUUID.self))
      let record = try #require(try await fixture.ledger.records([id], queue: "q").first)
      #expect(
        record
          == JobRecord(
            id: id, kind: "a", queue: "q", priority: .low, version: 3, payload: Array(#"{"n": 1}"#.utf8),
            isDurable: true, runAt: due, uniqueKey: "k", maxAttempts: 2, timeout: .milliseconds(1500),
            trace: TraceContext(traceparent: traceparent)))
      #expect(abs(id.date.timeIntervalSince(before)) < 60)
      let plain = JobID(
        try await fixture.pool.query("SELECT \(Self.enqueue)('a', traceparent => 'none')")[0].decode(PostgresUUID.self))
      #expect(plain > id)
      let other = try #require(try await fixture.ledger.records([plain], queue: .default).first)
      #expect(
        other
          == JobRecord(id: plain, kind: "a", queue: .default, payload: Array("{}".utf8), isDurable: true))
      // Each id is given once.
      #expect(try await fixture.ledger.takeUnpushed(queue: "q", limit: 10) == [id])
      #expect(try await fixture.ledger.takeUnpushed(queue: "q", limit: 10).isEmpty)
    }
  }

  @Test func mistakesAreRefusedWithTheRemedy() async throws {
    try await PostgresLedgerFixture.with { fixture in
      let mistakes: [(call: PostgresQuery, message: String)] = [
        ("(NULL)", "a kind has 1 to 255 bytes"), ("('')", "a kind has 1 to 255 bytes"),
        ("(repeat('x', 256))", "a kind has 1 to 255 bytes"),
        ("('a', queue => 'a b')", "'a b' cannot be a queue's name"),
        ("('a', queue => NULL)", "NULL cannot be a queue's name"),
        ("('a', priority => 'soon')", "'soon' is no priority"),
        ("('a', NULL)", "a payload is not null"), ("('a', version => 65535)", "a payload's version is 0 to 65534"),
        ("('a', max_attempts => 0)", "max_attempts is 1 to 65535"),
        ("('a', timeout => '0')", "a timeout is 1 ms or more"),
        ("('a', to_jsonb(repeat('x', 1048577)))", "the payload has 1048579 bytes, and the limit is 1048576"),
      ]
      for (call, message) in mistakes {
        let error = await #expect(throws: PostgresError.self) {
          try await fixture.pool.execute("SELECT \(Self.enqueue)\(unescaped: call.sql)")
        }
        #expect(error?.sqlState == "22023" && error?.message.contains(message) == true, "\(message): \(error as Any)")
      }
      let left = try await (Self.count("jobs", in: fixture), Self.count("unpushed_jobs", in: fixture))
      #expect(left == (0, 0))
    }
  }

  /// A job that an open transaction completes still holds its key, and `enqueue` returns null without waiting.
  @Test func aHeldKeyIsNotWaitedFor() async throws {
    try await PostgresLedgerFixture.with { fixture in
      let first = JobID(
        try await fixture.pool.query("SELECT \(Self.enqueue)('a', unique_key => 'k')")[0].decode(PostgresUUID.self))
      try await fixture.pool.transaction { transaction in
        _ = try await fixture.ledger.complete([first], queue: .default, in: transaction)
        let again = try await fixture.pool.query("SELECT \(Self.enqueue)('a', unique_key => 'k') IS NULL")[0]
        #expect(try again.decode(Bool.self))
      }
      let next = try await fixture.pool.query("SELECT \(Self.enqueue)('a', unique_key => 'k') IS NOT NULL")[0]
      #expect(try next.decode(Bool.self))
    }
  }

  // MARK: The relay

  @Test func manyInOneTransactionRunOnceEach() async throws {
    try await PostgresLedgerFixture.with { fixture in
      try await Self.work(fixture) { notes in
        try await fixture.pool.execute(
          """
          SELECT \(Self.enqueue)('test.note', jsonb_build_object('text', n::text)) FROM generate_series(1, 5000) AS n
          """)
        try await eventually("all have run") { try await fixture.ledger.allPendingIDs().isEmpty }
        #expect(notes.all.count == 5000 && Set(notes.all).count == 5000)
        #expect(try await Self.count("unpushed_jobs", in: fixture) == 0)
      }
    }
  }

  @Test func aLostListenerListensAgain() async throws {
    try await PostgresLedgerFixture.with { fixture in
      try await Self.work(fixture) { notes in
        for round in 0..<3 {
          let pids = try await Self.listeners(fixture)
          for pid in pids { try await fixture.pool.execute("SELECT pg_terminate_backend(\(Int32(pid)))") }
          // While nobody listens.
          try await Self.enqueue("\(round)", on: fixture)
          try await eventually("the job has run") { notes.all.contains("\(round)") }
          try await Self.listening(fixture)
        }
        #expect(notes.all == ["0", "1", "2"])
      }
    }
  }

  @Test func ownLimitsOfAJobHold() async throws {
    try await PostgresLedgerFixture.with { fixture in
      try await Self.work(fixture) { notes in
        try await fixture.pool.execute(
          "SELECT \(Self.enqueue)('test.note', '{\"text\": \"fails\"}', max_attempts => 1)")
        try await eventually("it is dead") {
          try await Self.count("dead_jobs", in: fixture) == 1
        }
        #expect(notes.all == ["fails"])
      }
    }
  }

  /// A queue that no worker serves leaves nothing behind but its jobs.
  @Test func theSweepForgetsWhatIsNoLongerPending() async throws {
    try await PostgresLedgerFixture.with { fixture in
      try await fixture.pool.execute("SELECT \(Self.enqueue)('a', queue => 'unserved')")
      let ids = try await fixture.ledger.allPendingIDs("unserved")
      let sweep = { @Sendable in
        var registry = JobRegistry<PostgresLedger>()
        registry.register(LedgerSweep.self, handler: LedgerSweep.run)
        let broker = InMemoryBroker()
        let worker = Worker(
          broker: broker, ledger: fixture.ledger, registry: registry, configuration: Self.configuration(),
          logger: .quiet)
        try await RunningWorker.run(worker) { _ in
          try await JobClient(broker: broker, ledger: fixture.ledger, logger: .quiet).enqueue(LedgerSweep(endedDays: 7))
          try await eventually("the sweep is done") { try await fixture.ledger.allPendingIDs().isEmpty }
        }
        return try await Self.count("unpushed_jobs", in: fixture)
      }
      #expect(try await sweep() == 1)
      try await fixture.ledger.cancel(ids, queue: "unserved")
      #expect(try await sweep() == 0)
    }
  }
}
