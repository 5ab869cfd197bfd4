#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Jobs
import Logging
import Postgres

/// The ledger in Postgres: the tables `jobs` and `dead_jobs` (`migrations/0001_jobs.sql`) and `ended_jobs`
/// (`migrations/0016_operations.sql`).
public struct PostgresLedger: Ledger {
  public typealias Transaction = PostgresTransaction

  private let pool: PostgresPool

  /// - Parameter pool: its `run()` must be running.
  public init(pool: PostgresPool) {
    self.pool = pool
  }

  public func withTransaction<Result: Sendable>(
    _ body: @Sendable (PostgresTransaction) async throws -> Result
  ) async throws -> Result {
    try await pool.transaction { try await body($0) }
  }

  // MARK: Owe and complete

  @discardableResult
  public func add(_ jobs: [JobRecord], in transaction: PostgresTransaction) async throws -> [JobID] {
    let rows = try await transaction.query(
      """
      INSERT INTO jobs (queue, id, kind, version, priority, payload, attempts, run_at, unique_key, trace)
      SELECT queue, id, kind, version, priority, payload, attempts, to_timestamp(run_at / 1000.0), unique_key, trace
      FROM unnest(\(jobs.map(\.queue.rawValue)), \(jobs.map { PostgresUUID($0.id) }), \(jobs.map(\.kind.rawValue)),
          \(jobs.map { Int32(clamping: $0.version) }), \(jobs.map { Int16($0.priority.rawValue) }),
          \(jobs.map { text($0.payload) }), \(jobs.map { Int32(clamping: $0.attempts) }), \(jobs.map(\.runAt)),
          \(jobs.map(\.uniqueKey)), \(jobs.map { $0.trace.map { PostgresUUID($0) } }))
        AS new (queue, id, kind, version, priority, payload, attempts, run_at, unique_key, trace)
      ON CONFLICT DO NOTHING
      RETURNING id
      """)
    return try ids(rows)
  }

  public func complete(
    _ ids: [JobID], queue: QueueName, in transaction: PostgresTransaction
  ) async throws -> [JobID] {
    if ids.isEmpty { return [] }
    // A scan of the index in key order, so that two deletions of the same rows lock them in the same order. The row as a
    // whole is made only of those that failed.
    return try self.ids(
      try await transaction.query(
        """
        WITH gone AS (
          DELETE FROM jobs WHERE queue = \(queue.rawValue) AND id = ANY(\(ids.map { PostgresUUID($0) }))
          RETURNING id, CASE WHEN failures IS NOT NULL THEN jobs END AS job
        ), kept AS (\(unescaped: EndedRows.insert("done", from: "gone WHERE (job).id IS NOT NULL", row: "job")))
        SELECT id FROM gone
        """))
  }

  public func complete(_ ids: [JobID], queue: QueueName) async throws {
    if ids.isEmpty { return }
    try await pool.execute(
      """
      WITH gone AS (
        DELETE FROM jobs WHERE queue = \(queue.rawValue) AND id = ANY(\(ids.map { PostgresUUID($0) }))
        RETURNING CASE WHEN failures IS NOT NULL THEN jobs END AS job
      )
      \(unescaped: EndedRows.insert("done", from: "gone WHERE (job).id IS NOT NULL", row: "job"))
      """)
  }

  // MARK: Cancel

  public func cancel(_ ids: [JobID], queue: QueueName) async throws {
    if ids.isEmpty { return }
    let ids = ids.map { PostgresUUID($0) }
    try await pool.execute(
      """
      WITH gone AS (
        DELETE FROM jobs WHERE queue = \(queue.rawValue) AND id = ANY(\(ids)) RETURNING jobs AS job
      ), unmarked AS (DELETE FROM job_cancellations WHERE id = ANY(\(ids)))
      \(unescaped: EndedRows.insert("cancelled", from: "gone", row: "job"))
      """)
  }

  /// Ends those of `ids` that no open transaction holds, and keeps a record of them.
  ///
  /// - Returns: their ids.
  public func cancelUnheld(
    _ ids: [JobID], queue: QueueName, in transaction: PostgresTransaction
  ) async throws -> [JobID] {
    if ids.isEmpty { return [] }
    return try self.ids(
      try await transaction.query(
        """
        WITH free AS (
          SELECT id AS free_id FROM jobs
          WHERE queue = \(queue.rawValue) AND id = ANY(\(ids.map { PostgresUUID($0) }))
          ORDER BY id FOR UPDATE SKIP LOCKED
        ), gone AS (
          DELETE FROM jobs USING free WHERE queue = \(queue.rawValue) AND id = free_id RETURNING id, jobs AS job
        ), kept AS (\(unescaped: EndedRows.insert("cancelled", from: "gone", row: "job")))
        SELECT id FROM gone
        """))
  }

  /// Tells whoever runs one of `ids`, or comes to run it, to end it.
  public func tellToEnd(_ ids: [JobID], queue: QueueName, in transaction: PostgresTransaction) async throws {
    if ids.isEmpty { return }
    try await transaction.execute(
      """
      INSERT INTO job_cancellations (id, queue)
      SELECT id, \(queue.rawValue) FROM unnest(\(ids.map { PostgresUUID($0) })) AS told (id) ORDER BY id
      ON CONFLICT DO NOTHING
      """)
  }

  // MARK: Failures

  public func recordFailures(_ failures: [FailedJob], queue: QueueName) async throws {
    try await pool.execute(
      """
      UPDATE jobs SET attempts = attempt, run_at = to_timestamp(due / 1000.0),
        failures = coalesce(failures, '[]'::jsonb) || failure::jsonb
      FROM unnest(\(failures.map { PostgresUUID($0.id) }), \(failures.map { Int32(clamping: $0.failure.attempt) }),
          \(failures.map(\.runAt)), \(try failures.map { try json($0.failure) }))
        AS new (failed, attempt, due, failure)
      WHERE queue = \(queue.rawValue) AND id = failed
      """)
  }

  public func bury(_ dead: [DeadJob]) async throws {
    try await pool.transaction { transaction in
      for job in dead {
        let record = job.record
        let failure = try json(job.failure)
        if record.isDurable {
          try await transaction.execute(
            """
            WITH gone AS (
              DELETE FROM jobs WHERE queue = \(record.queue.rawValue) AND id = \(PostgresUUID(record.id)) RETURNING *
            )
            INSERT INTO dead_jobs
              (id, queue, kind, version, priority, payload, attempts, unique_key, failures, created_at, trace)
            SELECT id, queue, kind, version, priority, payload, \(Int32(clamping: job.attempts)), unique_key,
              coalesce(failures, '[]'::jsonb) || \(failure)::jsonb, created_at, trace
            FROM gone ON CONFLICT (id) DO NOTHING
            """)
        } else {
          let failures = try json(record.failures + [job.failure])
          try await transaction.execute(
            """
            INSERT INTO dead_jobs (id, queue, kind, version, priority, payload, attempts, failures, created_at, trace)
            VALUES (\(PostgresUUID(record.id)), \(record.queue.rawValue), \(record.kind.rawValue),
              \(Int32(clamping: record.version)), \(Int16(record.priority.rawValue)), \(text(record.payload)),
              \(Int32(clamping: job.attempts)), \(failures)::jsonb, to_timestamp(\(record.createdAt) / 1000.0),
              \(record.trace.map { PostgresUUID($0) }))
            ON CONFLICT (id) DO NOTHING
            """)
        }
      }
    }
  }

  // MARK: Parking

  public func park(_ jobs: [JobRecord]) async throws {
    try await pool.transaction { transaction in
      for (queue, group) in Dictionary(grouping: jobs.filter(\.isDurable), by: \.queue) {
        try await transaction.execute(
          """
          UPDATE jobs SET parked = true
          WHERE queue = \(queue.rawValue) AND id = ANY(\(group.map { PostgresUUID($0.id) }))
          """)
      }
      // What only the broker knew is kept here from now on: there is nobody else to wait with it.
      let kept = jobs.filter { !$0.isDurable }
      if kept.isEmpty { return }
      try await add(kept, in: transaction)
      for (queue, group) in Dictionary(grouping: kept, by: \.queue) {
        try await transaction.execute(
          """
          UPDATE jobs SET parked = true
          WHERE queue = \(queue.rawValue) AND id = ANY(\(group.map { PostgresUUID($0.id) }))
          """)
      }
    }
  }

  @discardableResult
  public func unpark(queue: QueueName, kinds: [JobKind: Int]) async throws -> Int {
    let known = kinds.sorted { $0.key < $1.key }
    return try await pool.execute(
      """
      UPDATE jobs SET parked = false
      FROM unnest(\(known.map(\.key.rawValue)), \(known.map { Int32(clamping: $0.value) })) AS known (kind, version)
      WHERE jobs.queue = \(queue.rawValue) AND jobs.parked AND jobs.kind = known.kind
        AND jobs.version <= known.version
      """)
  }

  // MARK: What is owed

  public func owed(_ ids: [JobID], queue: QueueName) async throws -> [JobID] {
    try self.ids(
      try await pool.query(
        "SELECT id FROM jobs WHERE queue = \(queue.rawValue) AND id = ANY(\(ids.map { PostgresUUID($0) }))"))
  }

  public func owedIDs(queue: QueueName, after: JobID?, before: JobID, limit: Int) async throws -> [JobID] {
    let after = PostgresUUID(after ?? JobID(high: 0, low: 0))
    return try ids(
      try await pool.query(
        """
        SELECT id FROM jobs
        WHERE queue = \(queue.rawValue) AND id > \(after) AND id < \(PostgresUUID(before)) AND NOT parked
        ORDER BY id LIMIT \(limit)
        """))
  }

  public func records(_ ids: [JobID], queue: QueueName) async throws -> [JobRecord] {
    let rows = try await pool.query(
      """
      SELECT id, kind, version, priority, payload, attempts, (extract(epoch FROM run_at) * 1000)::bigint, unique_key,
        trace
      FROM jobs WHERE queue = \(queue.rawValue) AND id = ANY(\(ids.map { PostgresUUID($0) })) AND NOT parked
      """)
    return try rows.map { row in
      let (id, kind, version, priority, payload, attempts, runAt, uniqueKey, trace) = try row.decode(
        PostgresUUID.self, String.self, Int.self, Int16.self, String.self, Int.self, Int64?.self, String?.self,
        PostgresUUID?.self)
      return JobRecord(
        id: JobID(id), kind: JobKind(rawValue: kind), queue: queue,
        priority: JobPriority(rawValue: UInt8(clamping: priority)) ?? .normal, version: version,
        payload: Array(payload.utf8), isDurable: true, attempts: attempts, runAt: runAt, uniqueKey: uniqueKey,
        trace: trace.flatMap { TraceID($0) })
    }
  }

  // MARK: Leadership

  /// One session holds an advisory lock as long as it leads; when the process dies, the server frees the lock with the
  /// session, and the next one that waits leads.
  public func lead(_ role: String, _ body: @escaping @Sendable () async throws -> Void) async throws {
    let connection = try await pool.dedicatedConnection()
    do {
      // A leader that stands still, or whose machine is gone, says nothing more: its session ends, and its lock with it.
      try await connection.execute("SET idle_session_timeout = '4s'")
      // Asked for again and again instead of waited for in the server: a statement that waits keeps its snapshot, and while
      // there is an old snapshot no row that ended since is cleaned away, in tables where rows live for milliseconds.
      while !(try await tryLock(role, connection)) {
        try await Task.sleep(for: .milliseconds(Int.random(in: 500...1000)))
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await body() }
        group.addTask {
          // A session that is gone does not always say so.
          while true {
            try await Task.sleep(for: .seconds(1))
            try await connection.execute("SELECT 1")
          }
        }
        defer { group.cancelAll() }
        try await group.next()
      }
    } catch {
      await connection.close()
      throw error
    }
    await connection.close()
  }

  private func tryLock(_ role: String, _ connection: PostgresConnection) async throws -> Bool {
    let rows = try await connection.query("SELECT pg_try_advisory_lock(hashtextextended(\(role), 0))")
    guard let row = rows.first else { return false }
    return try row.decode(Bool.self)
  }

  // MARK: Forms

  private func ids(_ rows: PostgresRows) throws -> [JobID] {
    try rows.map { JobID(try $0.decode(PostgresUUID.self)) }
  }

  /// A text column holds no NUL; payloads are text, and an error's text is for people.
  private func text(_ bytes: [UInt8]) -> String {
    String(decoding: bytes, as: UTF8.self).replacing("\0", with: "\u{FFFD}")
  }

  private func json(_ value: some Encodable) throws -> String {
    // No zero byte is in it, since `JobFailure` takes none: jsonb would refuse it.
    String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
  }
}
