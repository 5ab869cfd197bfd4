#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import LibPQClient
import Logging

/// The ledger in Postgres: the tables `jobs`, `dead_jobs` and `ended_jobs` of a queue's schema (`JobsSchema`).
public struct PostgresLedger: Ledger {
  public typealias Transaction = PostgresTransaction

  /// The database with its tables.
  public let database: JobsDatabase
  private let pulse: LedgerPulse

  public init(_ database: JobsDatabase) {
    self.database = database
    pulse = LedgerPulse(pool: database.pool)
  }

  /// - Parameters:
  ///   - pool: its `run()` must be running.
  ///   - schema: the schema with the tables.
  public init(pool: PostgresPool, schema: JobsSchema = .standard) {
    self.init(JobsDatabase(pool: pool, schema: schema))
  }

  var pool: PostgresPool { database.pool }
  var schema: JobsSchema { database.schema }

  public func withTransaction<Result: Sendable>(
    _ body: @Sendable (PostgresTransaction) async throws -> Result
  ) async throws -> Result {
    try await pool.transaction { try await body($0) }
  }

  // MARK: Owe and complete

  @discardableResult
  public func add(_ jobs: [JobRecord], in transaction: PostgresTransaction) async throws -> [JobID] {
    // One statement, except for large payloads.
    var added: [JobID] = []
    for batch in jobs[...].batches(isWhole: true) { added += try await insert(batch, in: transaction) }
    return added
  }

  private func insert(_ jobs: ArraySlice<JobRecord>, in transaction: PostgresTransaction) async throws -> [JobID] {
    let keys = jobs.compactMap(\.uniqueKey)
    if keys.isEmpty {
      let insertion = jobs.count == 1 ? insertion(of: jobs[jobs.startIndex]) : insertion(of: jobs)
      return try ids(try await transaction.query(insertion))
    }
    // A row of `jobs` that a running job's transaction has deleted is still visible to `keyed`, so `keyed` never waits
    // for that transaction. The limit is for the waits that remain: another transaction that adds the same key, or one
    // that deletes the row between the statement's snapshot and its insert. The next try sees the latter.
    let keyed: PostgresQuery = """
      \(rows: jobs, in: schema)
      WHERE unique_key IS NULL OR NOT coalesce((
        SELECT true FROM \(schema.jobs) AS old
          WHERE old.queue = new.queue AND old.unique_key = new.unique_key LIMIT 1), false)
      ON CONFLICT DO NOTHING RETURNING id
      """
    let deadline = ContinuousClock.now + UniqueKeyHeld.limit
    var limit = Duration.milliseconds(20)
    while true {
      if let rows = try await transaction.pipeline(IndexScans.around(keyed), lockLimit: limit) {
        return try ids(rows[1])
      }
      if ContinuousClock.now >= deadline { throw UniqueKeyHeld(keys: keys) }
      limit = min(limit * 2, .milliseconds(250))
    }
  }

  private func insertion(of jobs: ArraySlice<JobRecord>) -> PostgresQuery {
    "\(rows: jobs, in: schema) ON CONFLICT DO NOTHING RETURNING id"
  }

  /// The same for one job, without arrays: the server does not know an array's length, and so replans a statement with
  /// one each time.
  private func insertion(of job: JobRecord) -> PostgresQuery {
    """
    INSERT INTO \(schema.jobs) (queue, id, kind, version, priority, payload, attempts, run_at, trace, trace_span,
      trace_sampled, max_attempts, timeout_ms)
    VALUES (\(job.queue.rawValue), \(PostgresUUID(job.id)), \(job.kind.rawValue), \(Int32(clamping: job.version)),
      \(Int16(job.priority.rawValue)), \(ledgerText(job.payload)), \(Int32(clamping: job.attempts)),
      to_timestamp(\(job.runAt?.unixMilliseconds)::bigint / 1000.0), \(job.trace.map { PostgresUUID($0.id) }),
      \(job.trace?.signedSpan), \(job.trace?.isSampled), \(job.maxAttempts.map { Int32(clamping: $0) }),
      \(job.timeout?.milliseconds))
    ON CONFLICT DO NOTHING RETURNING id
    """
  }

  public func complete(
    _ ids: [JobID], queue: QueueName, in transaction: PostgresTransaction
  ) async throws -> Completion {
    let (ended, held) = try await change(ids, queue, transaction.queryByIndex) { completion(of: $0, queue) }
    return Completion(ended: ended, held: held)
  }

  @discardableResult
  public func complete(_ ids: [JobID], queue: QueueName) async throws -> [JobID] {
    try await change(ids, queue, pool.queryByIndex) { completion(of: $0, queue) }.held
  }

  private func completion(of ids: [JobID], _ queue: QueueName) -> PostgresQuery {
    // Only failed jobs return their whole row.
    """
    WITH \(free: ids, queue, in: schema), gone AS (
      DELETE FROM \(schema.jobs) USING free WHERE jobs.ctid = place
      RETURNING id, CASE WHEN failures IS NOT NULL THEN jobs END AS job
    ), kept AS (\(unescaped: FinishedRows.insert(in: schema, "done", from: "gone WHERE (job).id IS NOT NULL", row: "job")))
    SELECT id FROM gone
    """
  }

  // MARK: Cancel

  @discardableResult
  public func cancel(_ ids: [JobID], queue: QueueName) async throws -> [JobID] {
    try await change(ids, queue, pool.queryByIndex) {
      """
      WITH \(free: $0, queue, in: schema), gone AS (
        DELETE FROM \(schema.jobs) USING free WHERE jobs.ctid = place RETURNING id, jobs AS job
      ), unmarked AS (DELETE FROM \(schema.cancellations) WHERE id = ANY(\($0.map { PostgresUUID($0) }))),
      kept AS (\(unescaped: FinishedRows.insert(in: schema, "cancelled", from: "gone", row: "job")))
      SELECT id FROM gone
      """
    }.held
  }

  /// Ends those of `ids` that no open transaction holds, and keeps a record of them.
  ///
  /// - Returns: their ids.
  public func cancelUnheld(
    _ ids: [JobID], queue: QueueName, in transaction: PostgresTransaction
  ) async throws -> [JobID] {
    try await change(ids, queue, transaction.queryByIndex) {
      """
      WITH \(free: $0, queue, in: schema), gone AS (
        DELETE FROM \(schema.jobs) USING free WHERE jobs.ctid = place RETURNING id, jobs AS job
      ), kept AS (\(unescaped: FinishedRows.insert(in: schema, "cancelled", from: "gone", row: "job")))
      SELECT id FROM gone
      """
    }.changed
  }

  /// Orders the worker that runs one of `ids`, or is about to, to end it.
  public func orderToEnd(_ ids: [JobID], queue: QueueName, in transaction: PostgresTransaction) async throws {
    if ids.isEmpty { return }
    try await transaction.execute(
      """
      INSERT INTO \(schema.cancellations) (id, queue)
      SELECT id, \(queue.rawValue) FROM unnest(\(ids.map { PostgresUUID($0) })) AS told (id) ORDER BY id
      ON CONFLICT DO NOTHING
      """)
  }

  // MARK: What is pending

  public func records(_ ids: [JobID], queue: QueueName) async throws -> [JobRecord] {
    // A payload's length is known without reading it, and one that stays here is not read.
    let rows = try await pool.queryByIndex(
      """
      SELECT id, kind, version, priority, attempts, run_at, unique_key, trace, trace_span, trace_sampled, max_attempts,
        timeout_ms, size,
        CASE WHEN size <= \(PayloadLimit.carried) THEN payload END AS payload
      FROM (
        SELECT id, kind, version, priority, attempts, unique_key, trace, trace_span, trace_sampled, max_attempts,
          timeout_ms, payload, octet_length(payload) AS size,
          CASE WHEN run_at IS NOT NULL
            -- Whoever wrote 'infinity' gets a time that milliseconds can say.
            THEN (extract(epoch FROM least(greatest(run_at, 'epoch'), '9999-12-31')) * 1000)::bigint END AS run_at,
          sum(CASE WHEN octet_length(payload) <= \(PayloadLimit.carried) THEN octet_length(payload) ELSE 0 END)
            OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS total
        FROM \(jobs: ids, queue, in: schema) WHERE NOT parked
      ) AS found
      WHERE total <= \(PayloadLimit.batch) ORDER BY id
      """)
    return try rows.map { row in
      let (
        id, kind, version, priority, attempts, runAt, uniqueKey, trace, span, isSampled, maxAttempts, timeout, size,
        payload
      ) = try row.decode(
        PostgresUUID.self, String.self, Int.self, Int16.self, Int.self, Int64?.self, String?.self, PostgresUUID?.self,
        Int64?.self, Bool?.self, Int?.self, Int64?.self, Int.self, String?.self)
      return JobRecord(
        id: JobID(id), kind: JobKind(rawValue: kind), queue: queue,
        priority: JobPriority(rawValue: UInt8(clamping: priority)) ?? .normal, version: version,
        payload: payload.map { Array($0.utf8) } ?? [], isDurable: true, attempts: attempts,
        runAt: runAt.map { Date(unixMilliseconds: $0) }, uniqueKey: uniqueKey, maxAttempts: maxAttempts,
        timeout: timeout.map { .milliseconds($0) }, trace: TraceContext(trace, span: span, isSampled: isSampled),
        payloadInLedger: payload == nil ? size : nil)
    }
  }

  public func payloads(_ ids: [JobID], queue: QueueName) async throws -> [JobID: [UInt8]] {
    let rows = try await pool.queryByIndex("SELECT id, payload FROM \(jobs: ids, queue, in: schema)")
    var payloads: [JobID: [UInt8]] = [:]
    // Read as bytes, so that a large text is copied only once.
    for row in rows { payloads[JobID(try PostgresUUID(postgres: row[0]))] = try row[1].withBytes { Array($0) } }
    return payloads
  }

  public func pending(_ ids: [JobID], queue: QueueName) async throws -> [JobID] {
    try self.ids(try await pool.queryByIndex("SELECT id FROM \(jobs: ids, queue, in: schema)"))
  }

  public func pendingIDs(queue: QueueName, after: JobID?, before: JobID, limit: Int) async throws -> [JobID] {
    let after = PostgresUUID(after ?? JobID(high: 0, low: 0))
    return try ids(
      try await pool.queryByIndex(
        """
        SELECT id FROM \(schema.jobs)
        WHERE queue = \(queue.rawValue) AND id > \(after) AND id < \(PostgresUUID(before)) AND NOT parked
        ORDER BY id LIMIT \(limit)
        """))
  }

  public func newestPendingIDs(
    queue: QueueName, after: JobID, before: JobID, age: Duration, limit: Int
  ) async throws -> [JobID] {
    try ids(
      try await pool.queryByIndex(
        """
        SELECT id FROM \(schema.jobs)
        WHERE queue = \(queue.rawValue) AND id > \(PostgresUUID(after)) AND id < \(PostgresUUID(before)) AND NOT parked
          AND created_at <= now() - make_interval(secs => \(age / .seconds(1)))
        ORDER BY id DESC LIMIT \(limit)
        """))
  }

  // MARK: Jobs that other programs add

  public func listen(
    to queues: Set<QueueName>, _ body: @escaping @Sendable (Set<QueueName>) async throws -> Void
  ) async throws {
    try await LedgerListener(pool: pool, schema: schema).listen(to: queues, body)
  }

  public func takeUnpushed(queue: QueueName, limit: Int) async throws -> [JobID] {
    try ids(
      try await pool.queryByIndex(
        """
        DELETE FROM \(schema.unpushed) WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM \(schema.unpushed) WHERE queue = \(queue.rawValue) ORDER BY id LIMIT \(limit)
          FOR UPDATE SKIP LOCKED))
        RETURNING id
        """))
  }

  // MARK: Silence

  public func ping(within limit: Duration) async throws { try await pulse.ask(within: limit) }

  // MARK: Leading

  public func lead(_ role: String, _ body: @escaping @Sendable () async throws -> Void) async throws {
    try await PostgresLeadership(role, pool: pool, schema: schema).hold(during: body)
  }

  // MARK: Held rows

  /// Changes jobs, and tries those that it left once more: a row that another transaction changed between the
  /// statement's snapshot and its lock is no longer at its place, and the next snapshot has its new one.
  ///
  /// - Parameters:
  ///   - run: runs a statement on the pool or in a transaction.
  ///   - statement: returns the ids of the jobs that it changed.
  /// - Returns: the jobs that were changed, and those that another transaction holds.
  func change(
    _ ids: [JobID], _ queue: QueueName, _ run: (PostgresQuery) async throws -> PostgresRows,
    _ statement: ([JobID]) throws -> PostgresQuery
  ) async throws -> (changed: [JobID], held: [JobID]) {
    var changed: [JobID] = []
    var left = ids
    for _ in 0..<2 where !left.isEmpty {
      let found = try self.ids(try await run(try statement(left)))
      changed += found
      if found.count == left.count { return (changed, []) }
      let gone = Set(found)
      left.removeAll { gone.contains($0) }
      left = try self.ids(try await run("SELECT id FROM \(jobs: left, queue, in: schema)"))
    }
    return (changed, left)
  }

  // MARK: Forms

  func ids(_ rows: PostgresRows) throws -> [JobID] {
    try rows.map { JobID(try $0.decode(PostgresUUID.self)) }
  }
}
