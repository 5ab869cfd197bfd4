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
    // for that transaction. The savepoint is for the waits that remain: another transaction that adds the same key, or
    // one that deletes the row between the statement's snapshot and its insert. The next try sees the latter.
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
      // The savepoint comes first: going back to it restores the setting.
      let queries = ["SAVEPOINT adding_jobs"] + IndexScans.around(keyed) + ["RELEASE adding_jobs"]
      if let rows = try await transaction.pipeline(queries, lockLimit: limit) { return try ids(rows[2]) }
      try await transaction.pipeline(["ROLLBACK TO adding_jobs", "RELEASE adding_jobs"])
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
    try await complete(ids, queue: queue, in: transaction, isAgain: false)
  }

  /// - Parameter isAgain: whether these were left once. A row that another transaction changed between the statement's
  ///   snapshot and its lock is not at its place any more, and the next snapshot has its new place.
  private func complete(
    _ ids: [JobID], queue: QueueName, in transaction: PostgresTransaction, isAgain: Bool
  ) async throws -> Completion {
    if ids.isEmpty { return Completion(ended: []) }
    // Only failed jobs return their whole row.
    let ended = try self.ids(
      try await transaction.queryByIndex(
        """
        WITH \(free: ids, queue, in: schema), gone AS (
          DELETE FROM \(schema.jobs) USING free WHERE jobs.ctid = place
          RETURNING id, CASE WHEN failures IS NOT NULL THEN jobs END AS job
        ), kept AS (\(unescaped: FinishedRows.insert(in: schema, "done", from: "gone WHERE (job).id IS NOT NULL", row: "job")))
        SELECT id FROM gone
        """))
    let left = Self.rest(of: ids, without: ended)
    if left.isEmpty { return Completion(ended: ended) }
    let held = try self.ids(
      try await transaction.queryByIndex("SELECT id FROM \(jobs: left, queue, in: schema)"))
    if held.isEmpty || isAgain { return Completion(ended: ended, held: held) }
    let again = try await complete(held, queue: queue, in: transaction, isAgain: true)
    return Completion(ended: ended + again.ended, held: again.held)
  }

  @discardableResult
  public func complete(_ ids: [JobID], queue: QueueName) async throws -> [JobID] {
    try await complete(ids, queue: queue, isAgain: false)
  }

  private func complete(_ ids: [JobID], queue: QueueName, isAgain: Bool) async throws -> [JobID] {
    if ids.isEmpty { return [] }
    let gone = try await pool.queryByIndex(
      """
      WITH \(free: ids, queue, in: schema), gone AS (
        DELETE FROM \(schema.jobs) USING free WHERE jobs.ctid = place
        RETURNING CASE WHEN failures IS NOT NULL THEN jobs END AS job
      ), kept AS (\(unescaped: FinishedRows.insert(in: schema, "done", from: "gone WHERE (job).id IS NOT NULL", row: "job")))
      SELECT count(*) FROM gone
      """)[0].decode(Int.self)
    if gone == ids.count { return [] }
    // Rows that still exist were locked by another transaction, or changed meanwhile.
    let held = try await pending(ids, queue: queue)
    return isAgain ? held : try await complete(held, queue: queue, isAgain: true)
  }

  // MARK: Cancel

  @discardableResult
  public func cancel(_ ids: [JobID], queue: QueueName) async throws -> [JobID] {
    if ids.isEmpty { return [] }
    let gone = try self.ids(
      try await pool.queryByIndex(
        """
        WITH \(free: ids, queue, in: schema), gone AS (
          DELETE FROM \(schema.jobs) USING free WHERE jobs.ctid = place
            RETURNING id, jobs AS job
        ), unmarked AS (DELETE FROM \(schema.cancellations) WHERE id = ANY(\(ids.map { PostgresUUID($0) }))),
        kept AS (\(unescaped: FinishedRows.insert(in: schema, "cancelled", from: "gone", row: "job")))
        SELECT id FROM gone
        """))
    return try await held(Self.rest(of: ids, without: gone), queue)
  }

  /// Ends those of `ids` that no open transaction holds, and keeps a record of them.
  ///
  /// - Returns: their ids.
  public func cancelUnheld(
    _ ids: [JobID], queue: QueueName, in transaction: PostgresTransaction
  ) async throws -> [JobID] {
    if ids.isEmpty { return [] }
    return try self.ids(
      try await transaction.queryByIndex(
        """
        WITH \(free: ids, queue, in: schema), gone AS (
          DELETE FROM \(schema.jobs) USING free WHERE jobs.ctid = place
            RETURNING id, jobs AS job
        ), kept AS (\(unescaped: FinishedRows.insert(in: schema, "cancelled", from: "gone", row: "job")))
        SELECT id FROM gone
        """))
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

  // MARK: Failures

  @discardableResult
  public func recordFailures(_ failures: [FailedJob], queue: QueueName) async throws -> [JobID] {
    if failures.isEmpty { return [] }
    let ids = failures.map(\.id)
    let new: PostgresQuery = """
      unnest(\(ids.map { PostgresUUID($0) }), \(failures.map { Int32(clamping: $0.failure.attempt) }),
        \(failures.map(\.runAt.unixMilliseconds)), \(try failures.map { try DeadRows.json($0.failure) }))
        AS new (wanted, attempt, due, failure)
      """
    let noted = try self.ids(
      try await pool.queryByIndex(
        """
        WITH free AS MATERIALIZED (SELECT place, attempt, due, failure FROM \(locked: new, queue, in: schema))
        UPDATE \(schema.jobs) SET attempts = attempt, run_at = to_timestamp(due / 1000.0),
          failures = coalesce(failures, '[]'::jsonb) || failure::jsonb
        FROM free WHERE jobs.ctid = place RETURNING id
        """))
    return try await held(Self.rest(of: ids, without: noted), queue)
  }

  @discardableResult
  public func postpone(_ dates: [JobID: Date], queue: QueueName) async throws -> [JobID] {
    if dates.isEmpty { return [] }
    let ids = dates.keys.sorted()
    let new: PostgresQuery = """
      unnest(\(ids.map { PostgresUUID($0) }), \(ids.map { dates[$0]?.unixMilliseconds ?? 0 })) AS new (wanted, due)
      """
    let noted = try self.ids(
      try await pool.queryByIndex(
        """
        WITH free AS MATERIALIZED (SELECT place, due FROM \(locked: new, queue, in: schema))
        UPDATE \(schema.jobs) SET run_at = to_timestamp(due / 1000.0) FROM free WHERE jobs.ctid = place RETURNING id
        """))
    return try await held(Self.rest(of: ids, without: noted), queue)
  }

  @discardableResult
  public func deadLetter(_ dead: [DeadJob]) async throws -> [JobID] {
    try await end(dead) { try DeadRows.deadLetter($0, in: schema) }
  }

  @discardableResult
  public func discard(_ discarded: [DeadJob]) async throws -> [JobID] {
    try await end(discarded) { try DeadRows.discard($0, in: schema) }
  }

  /// Moves each job out of `jobs` with a statement of its own.
  ///
  /// - Returns: those that another transaction holds.
  private func end(_ ended: [DeadJob], _ statement: (DeadJob) throws -> PostgresQuery) async throws -> [JobID] {
    if ended.isEmpty { return [] }
    // One round trip, except for large payloads: a worker that froze between two statements would hold the rows of the
    // first.
    for batch in ended.map(\.record)[...].batches(isWhole: true) {
      try await pool.pipeline([IndexScans.begin] + ended[batch.indices].map(statement))
    }
    var held: [JobID] = []
    for (queue, group) in Dictionary(grouping: ended.map(\.record).filter(\.isDurable), by: \.queue) {
      held += try await self.held(group.map(\.id), queue)
    }
    return held
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

  public func refuse(_ refusals: [JobID: String], queue: QueueName) async throws {
    let refused = refusals.sorted { $0.key < $1.key }
    let new: PostgresQuery = """
      unnest(\(refused.map { PostgresUUID($0.key) }), \(refused.map { ledgerText(Array($0.value.utf8)) }))
        AS new (wanted, reason)
      """
    _ = try await pool.queryByIndex(
      """
      WITH free AS MATERIALIZED (SELECT place, reason FROM \(locked: new, queue, in: schema))
      UPDATE \(schema.jobs) SET refusal = reason FROM free
      WHERE jobs.ctid = place AND refusal IS DISTINCT FROM reason
      """)
  }

  // MARK: Jobs that wait for a worker that knows them

  @discardableResult
  public func park(_ jobs: [JobRecord]) async throws -> [JobID] {
    if jobs.isEmpty { return [] }
    // The broker drops parked jobs, so those that only it knew get a row.
    let kept = jobs.filter { !$0.isDurable }
    try await pool.transaction { transaction in
      if !kept.isEmpty { _ = try await add(kept, in: transaction) }
      try await transaction.pipeline(
        [IndexScans.begin]
          + Dictionary(grouping: jobs, by: \.queue).map { queue, group in
            """
            WITH \(free: group.map(\.id), queue, in: schema)
            UPDATE \(schema.jobs) SET parked = true FROM free WHERE jobs.ctid = place
            """
          })
    }
    var held: [JobID] = []
    for (queue, group) in Dictionary(grouping: jobs, by: \.queue) {
      held += try ids(
        try await pool.queryByIndex("SELECT id FROM \(jobs: group.map(\.id), queue, in: schema) WHERE NOT parked"))
    }
    return held
  }

  @discardableResult
  public func unpark(queue: QueueName, kinds: [JobKind: Int]) async throws -> Int {
    let known = kinds.sorted { $0.key < $1.key }
    return try await pool.execute(
      """
      UPDATE \(schema.jobs) SET parked = false
      FROM unnest(\(known.map(\.key.rawValue)), \(known.map { Int32(clamping: $0.value) })) AS known (kind, version)
      WHERE jobs.queue = \(queue.rawValue) AND jobs.parked AND jobs.kind = known.kind
        AND jobs.version <= known.version
      """)
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

  /// Those of `ids` that still exist: they were not ended, so another transaction holds them.
  private func held(_ ids: [JobID], _ queue: QueueName) async throws -> [JobID] {
    ids.isEmpty ? [] : try await pending(ids, queue: queue)
  }

  private static func rest(of ids: [JobID], without ended: [JobID]) -> [JobID] {
    if ended.count == ids.count { return [] }
    let ended = Set(ended)
    return ids.filter { !ended.contains($0) }
  }

  // MARK: Forms

  func ids(_ rows: PostgresRows) throws -> [JobID] {
    try rows.map { JobID(try $0.decode(PostgresUUID.self)) }
  }
}
