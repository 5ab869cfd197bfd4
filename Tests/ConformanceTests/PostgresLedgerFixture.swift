import DurableJobs
import DurableJobsPostgres
import Foundation
import JobsTestSupport
import LibPQClient
import Locking
import Logging
import PrivateServers
import Testing

/// The ledgers that the suite runs on.
enum LedgerKind: String, CaseIterable, Sendable {
  case memory, postgres

  /// Runs `body` with a fresh ledger.
  func with(_ body: @Sendable (any TestedLedger) async throws -> Void) async throws {
    switch self {
    case .memory: try await body(InMemoryLedger())
    case .postgres: try await PostgresLedgerFixture.with { try await body(TestedPostgresLedger(fixture: $0)) }
    }
  }
}

/// A ledger that a test can look into.
protocol TestedLedger: Ledger {
  /// The dead letters: each with its attempts and errors.
  func deadLetters() async throws -> [JobID: DeadLetter]
  /// The jobs that were cancelled, or done after a failure: each with its state and errors.
  func endedJobs() async throws -> [JobID: EndedLetter]
}

struct DeadLetter: Equatable {
  var kind: JobKind
  var attempts: Int
  var errors: [String]
}

struct EndedLetter: Equatable {
  var state: FinishedJob.State
  var attempts: Int
  var errors: [String]
}

extension InMemoryLedger: TestedLedger {
  func endedJobs() -> [JobID: EndedLetter] {
    var letters: [JobID: EndedLetter] = [:]
    for job in ended {
      letters[job.record.id] = EndedLetter(
        state: job.state, attempts: job.record.attempts, errors: job.record.failures.map(\.error))
    }
    return letters
  }

  func deadLetters() -> [JobID: DeadLetter] {
    var letters: [JobID: DeadLetter] = [:]
    for job in dead {
      letters[job.record.id] = DeadLetter(
        kind: job.record.kind, attempts: job.attempts, errors: job.record.failures.map(\.error))
    }
    return letters
  }
}

/// A ledger in a database of its own.
struct PostgresLedgerFixture: Sendable {
  let ledger: PostgresLedger
  let pool: PostgresPool
  let url: String

  /// The files of `migrations/` that the queue needs, whatever the app is.
  static let migrations = [
    "0001_jobs.sql", "0008_schedules.sql", "0016_operations.sql", "0017_job_hours.sql", "0022_traces.sql",
    "0025_counted_reports.sql", "0035_process_clocks.sql", "0036_job_refusals.sql",
    "0037_worker_connections.sql",
  ]

  static func with<Result: Sendable>(
    _ body: @Sendable (PostgresLedgerFixture) async throws -> Result
  ) async throws -> Result {
    let template = try await SharedServers.template("jobs_ledger") { url in
      let server = try await SharedServers.postgres()
      let database = url.prefix { $0 != "?" }.split(separator: "/").last.map(String.init) ?? ""
      for file in migrations {
        let path = URL(filePath: #filePath).appending(path: "../../../migrations/\(file)").standardizedFileURL
        let text = try String(contentsOf: path, encoding: .utf8)
        // Everything above this line of the file makes the tables.
        try await server.run(text.components(separatedBy: "-- down").first ?? "", database: database)
      }
    }
    let url = try await SharedServers.freshDatabase(template: template)
    let pool = PostgresPool(
      configuration: try PostgresConfiguration(url: url), size: 10, waitLimit: .seconds(60), loop: RedisFixture.loop,
      logger: .quiet)
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await pool.run() }
      defer { group.cancelAll() }
      return try await body(PostgresLedgerFixture(ledger: PostgresLedger(pool: pool), pool: pool, url: url))
    }
  }
}

struct TestedPostgresLedger: TestedLedger {
  let fixture: PostgresLedgerFixture
  private var ledger: PostgresLedger { fixture.ledger }

  init(fixture: PostgresLedgerFixture) { self.fixture = fixture }

  func deadLetters() async throws -> [JobID: DeadLetter] {
    let rows = try await fixture.pool.query("SELECT id, kind, attempts, failures::text FROM dead_jobs")
    var letters: [JobID: DeadLetter] = [:]
    for row in rows {
      let (id, kind, attempts, failures) = try row.decode(PostgresUUID.self, String.self, Int.self, String.self)
      let errors = try JSONDecoder().decode([JobFailure].self, from: Data(failures.utf8)).map(\.error)
      letters[JobID(id)] = DeadLetter(kind: JobKind(rawValue: kind), attempts: attempts, errors: errors)
    }
    return letters
  }

  func endedJobs() async throws -> [JobID: EndedLetter] {
    let rows = try await fixture.pool.query(
      "SELECT id, state, attempts, coalesce(failures, '[]')::text FROM ended_jobs")
    var letters: [JobID: EndedLetter] = [:]
    for row in rows {
      let (id, state, attempts, failures) = try row.decode(PostgresUUID.self, String.self, Int.self, String.self)
      let errors = try JSONDecoder().decode([JobFailure].self, from: Data(failures.utf8)).map(\.error)
      letters[JobID(id)] = EndedLetter(
        state: try #require(FinishedJob.State(rawValue: state)), attempts: attempts, errors: errors)
    }
    return letters
  }

  func withTransaction<Result: Sendable>(
    _ body: @Sendable (PostgresTransaction) async throws -> Result
  ) async throws -> Result { try await ledger.withTransaction(body) }
  func add(_ jobs: [JobRecord], in transaction: PostgresTransaction) async throws -> [JobID] {
    try await ledger.add(jobs, in: transaction)
  }
  func complete(_ ids: [JobID], queue: QueueName, in transaction: PostgresTransaction) async throws -> Completion {
    try await ledger.complete(ids, queue: queue, in: transaction)
  }
  func complete(_ ids: [JobID], queue: QueueName) async throws -> [JobID] {
    try await ledger.complete(ids, queue: queue)
  }
  func cancel(_ ids: [JobID], queue: QueueName) async throws -> [JobID] { try await ledger.cancel(ids, queue: queue) }
  func recordFailures(_ failures: [FailedJob], queue: QueueName) async throws -> [JobID] {
    try await ledger.recordFailures(failures, queue: queue)
  }
  func deadLetter(_ dead: [DeadJob]) async throws -> [JobID] { try await ledger.deadLetter(dead) }
  func park(_ jobs: [JobRecord]) async throws -> [JobID] { try await ledger.park(jobs) }
  func ping(within limit: Duration) async throws { try await ledger.ping(within: limit) }
  func unpark(queue: QueueName, kinds: [JobKind: Int]) async throws -> Int {
    try await ledger.unpark(queue: queue, kinds: kinds)
  }
  func pending(_ ids: [JobID], queue: QueueName) async throws -> [JobID] { try await ledger.pending(ids, queue: queue) }
  func pendingIDs(queue: QueueName, after: JobID?, before: JobID, limit: Int) async throws -> [JobID] {
    try await ledger.pendingIDs(queue: queue, after: after, before: before, limit: limit)
  }
  func newestPendingIDs(
    queue: QueueName, after: JobID, before: JobID, age: Duration, limit: Int
  ) async throws -> [JobID] {
    try await ledger.newestPendingIDs(queue: queue, after: after, before: before, age: age, limit: limit)
  }
  func refuse(_ refusals: [JobID: String], queue: QueueName) async throws {
    try await ledger.refuse(refusals, queue: queue)
  }
  func records(_ ids: [JobID], queue: QueueName) async throws -> [JobRecord] {
    try await ledger.records(ids, queue: queue)
  }
  func payloads(_ ids: [JobID], queue: QueueName) async throws -> [JobID: [UInt8]] {
    try await ledger.payloads(ids, queue: queue)
  }
  func lead(_ role: String, _ body: @escaping @Sendable () async throws -> Void) async throws {
    try await ledger.lead(role, body)
  }
}

extension Ledger {
  func add(_ jobs: JobRecord...) async throws -> [JobID] {
    try await withTransaction { try await add(jobs, in: $0) }
  }

  /// Completes in a transaction of its own.
  func completeAlone(_ ids: [JobID], queue: QueueName = .default) async throws -> [JobID] {
    try await withTransaction { try await complete(ids, queue: queue, in: $0).ended }
  }

  func allPendingIDs(_ queue: QueueName = .default) async throws -> [JobID] {
    try await pendingIDs(queue: queue, after: nil, before: JobID(high: .max, low: 0), limit: 100_000)
  }
}

/// Opens once, for whoever waits.
final class Gate: Sendable {
  private let isOpen = Locked(false)
  var hasOpened: Bool { isOpen.withLock { $0 } }
  func open() { isOpen.withLock { $0 = true } }
  func wait() async throws { try await eventually("the gate opens") { hasOpened } }
}

/// What a test throws to roll back.
struct Rollback: Error {}
