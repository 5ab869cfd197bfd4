import DurableJobs
import LibPQClient

/// A range of a queue's pending jobs, in order of their ids.
package struct PendingRange: Sendable, Hashable {
  package let queue: QueueName
  /// The first id in the range.
  package let from: JobID
  /// The first id past the range.
  package let before: JobID
  /// The state whose partial index is scanned, which may contain jobs of other states too; nil scans the table's key.
  package let index: PendingState?

  package init(queue: QueueName, from: JobID, before: JobID, index: PendingState? = nil) {
    self.queue = queue
    self.from = from
    self.before = before
    self.index = index
  }
}

/// A filter for the jobs in a range.
package struct PendingFilter: Sendable {
  package var state: PendingState?
  package var kind: String?
  package var except: [JobID]
  package var payload: PayloadCondition?

  package init(
    state: PendingState? = nil, kind: String? = nil, except: [JobID] = [], payload: PayloadCondition? = nil
  ) {
    self.state = state
    self.kind = kind
    self.except = except
    self.payload = payload
  }
}

extension JobsSchema {
  /// The start of a statement, which defines the table `queues (name)`: the queues with pending jobs, and a null at the
  /// end. It does not read every row: the key starts with the queue, and this steps from one queue to the next.
  var queuesTable: String {
    """
    WITH RECURSIVE queues AS (
      (SELECT queue AS name FROM \(jobs) ORDER BY queue LIMIT 1)
      UNION ALL
      SELECT (SELECT queue FROM \(jobs) WHERE queue > name ORDER BY queue LIMIT 1) FROM queues WHERE name IS NOT NULL
    )
    """
  }

  /// The queues with pending jobs.
  var queues: PostgresQuery { "\(unescaped: queuesTable) SELECT name FROM queues WHERE name IS NOT NULL" }
}

extension JobsDatabase {
  /// The queues with pending jobs.
  package func pendingQueues() async throws -> [QueueName] {
    try await pool.query(schema.queues).decode(String.self).map { QueueName(rawValue: $0) }
  }

  /// The id of the `rows`-th row from the end of each range; nil for a range with fewer rows.
  package func edges(of ranges: [PendingRange], rows: Int) async throws -> [JobID?] {
    if ranges.isEmpty { return [] }
    let answers = try await pool.pipeline(
      ranges.map { range -> PostgresQuery in
        "SELECT id FROM \(schema.jobs) WHERE \(range) ORDER BY id DESC OFFSET \(rows - 1) LIMIT 1"
      })
    return try answers.map { try $0.decode(PostgresUUID.self).first.map { JobID($0) } }
  }

  /// The jobs of each range that match the filter, newest first, in one round trip.
  ///
  /// - Parameter limit: the most jobs per range.
  package func pendingJobs(
    in ranges: [PendingRange], _ filter: PendingFilter, limit: Int
  ) async throws -> [[FoundJob]] {
    if ranges.isEmpty { return [] }
    let except = filter.except.map { PostgresUUID($0) }
    let answers = try await pool.pipeline(
      ranges.map { range -> PostgresQuery in
        """
        SELECT \(unescaped: JobRow.pending), \(soughtBy: filter.payload)
        FROM \(schema.jobs)\(preparedFor: filter.payload)
        WHERE \(range) AND \(unescaped: filter.state?.rest ?? "true") AND NOT (id = ANY(\(except)))
          AND (\(filter.kind) IS NULL OR kind = \(filter.kind)) AND \(filter.payload)
        ORDER BY id DESC LIMIT \(limit)
        """
      })
    return try answers.map { rows in try rows.map { try FoundJob($0) } }
  }

  /// Those of `jobs` that are pending and due, in any queue and within the range of ids, newest first. Each is found by
  /// its key, however many others wait.
  package func pendingJobs(
    among jobs: [JobID: QueueName], from: JobID, before: JobID, queue: String?, kind: String?,
    payload: PayloadCondition?, limit: Int
  ) async throws -> [FoundJob] {
    try await pool.query(
      """
      SELECT \(unescaped: JobRow.pending), \(soughtBy: payload)
      FROM \(schema.jobs) JOIN unnest(\(jobs.values.map(\.rawValue)), \(jobs.keys.map { PostgresUUID($0) }))
        AS wanted (wanted_queue, wanted_id) ON queue = wanted_queue AND id = wanted_id\(preparedFor: payload)
      WHERE \(unescaped: PendingState.waiting.rest) AND id < \(PostgresUUID(before)) AND id >= \(PostgresUUID(from))
        AND (\(kind) IS NULL OR kind = \(kind)) AND (\(queue) IS NULL OR queue = \(queue)) AND \(payload)
      ORDER BY id DESC LIMIT \(limit)
      """
    ).map { try FoundJob($0) }
  }

  /// The number of jobs in each range.
  package func pendingCounts(in ranges: [PendingRange]) async throws -> [Int] {
    if ranges.isEmpty { return [] }
    let answers = try await pool.pipeline(
      ranges.map { range -> PostgresQuery in "SELECT count(*) FROM \(schema.jobs) WHERE \(range)" })
    return try answers.map { try $0[0].decode(Int.self) }
  }

  /// A pending job's payload; nil if it is no longer pending.
  package func payload(of id: JobID, in queue: QueueName) async throws -> String? {
    try await pool.query(
      "SELECT payload FROM \(schema.jobs) WHERE queue = \(queue.rawValue) AND id = \(PostgresUUID(id))"
    ).decode(String.self).first
  }

  /// The first ids of a queue's pending jobs between two others, including parked jobs.
  package func allPendingIDs(
    in queue: QueueName, after: JobID, before: JobID, limit: Int
  ) async throws -> [JobID] {
    try await pool.query(
      """
      SELECT id FROM \(schema.jobs)
      WHERE queue = \(queue.rawValue) AND id > \(PostgresUUID(after)) AND id < \(PostgresUUID(before))
      ORDER BY id LIMIT \(limit)
      """
    ).decode(PostgresUUID.self).map { JobID($0) }
  }

  /// Whether a queue has pending jobs.
  package func isPending(in queue: QueueName) async throws -> Bool {
    try await pool.query("SELECT EXISTS (SELECT FROM \(schema.jobs) WHERE queue = \(queue.rawValue))")[0]
      .decode(Bool.self)
  }

  /// The oldest pending job of a queue that is not parked and is due at once.
  package func oldestPending(in queue: QueueName) async throws -> JobID? {
    try await pool.query(
      """
      SELECT id FROM \(schema.jobs) WHERE queue = \(queue.rawValue) AND run_at IS NULL AND NOT parked
      ORDER BY id LIMIT 1
      """
    ).decode(PostgresUUID.self).first.map { JobID($0) }
  }
}

extension PostgresQuery.StringInterpolation {
  /// The SQL condition for a range.
  fileprivate mutating func appendInterpolation(_ range: PendingRange) {
    appendLiteral("queue = ")
    appendInterpolation(range.queue.rawValue)
    appendLiteral(" AND id < ")
    appendInterpolation(PostgresUUID(range.before))
    appendLiteral(" AND id >= ")
    appendInterpolation(PostgresUUID(range.from))
    appendLiteral(" AND " + (range.index?.indexed ?? "true"))
  }
}
