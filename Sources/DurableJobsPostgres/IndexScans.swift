import DurableJobs
import LibPQClient

// A queue's table is empty one moment and holds a million jobs the next, and the server keeps plans that it made for
// the empty one: to read every row, or every row of the queue, for each batch. A plan has no such choice if
// - sequential scans are off while the statement runs;
// - a subquery finds each job by its whole key;
// - a job that is found so is changed at its place, its `ctid`, once it is locked.

enum IndexScans {
  /// Turns sequential scans off for the rest of the transaction.
  static let begin: PostgresQuery = "SELECT set_config('enable_seqscan', 'off', true)"

  /// Three statements: `query` is the second one, and the third restores the transaction's setting.
  static func around(_ query: PostgresQuery) -> [PostgresQuery] {
    [
      """
      SELECT set_config('fanmill.enable_seqscan', current_setting('enable_seqscan'), true),
        set_config('enable_seqscan', 'off', true)
      """,
      query, "SELECT set_config('enable_seqscan', current_setting('fanmill.enable_seqscan'), true)",
    ]
  }
}

extension PostgresPool {
  /// Runs a statement that finds its rows by indexes, however small the server believes the tables to be.
  func queryByIndex(_ query: PostgresQuery) async throws(PostgresError) -> PostgresRows {
    try await pipeline([IndexScans.begin, query])[1]
  }
}

extension PostgresTransaction {
  /// The same in a transaction, whose setting is restored afterwards.
  func queryByIndex(_ query: PostgresQuery) async throws(PostgresError) -> PostgresRows {
    try await pipeline(IndexScans.around(query))[1]
  }
}

extension PostgresQuery.StringInterpolation {
  /// Part of a FROM clause, `job`: the rows of those of `ids` that are pending.
  mutating func appendInterpolation(jobs ids: [JobID], _ queue: QueueName, in schema: JobsSchema) {
    let query: PostgresQuery = """
      unnest(\(ids.map { PostgresUUID($0) })) AS asked (wanted) CROSS JOIN LATERAL (
        SELECT * FROM \(schema.jobs) WHERE queue = \(queue.rawValue) AND id = wanted OFFSET 0) AS job
      """
    appendInterpolation(query)
  }

  /// Part of a WITH clause, `free (place)`: locks those of `ids` that no other transaction holds. It never
  /// waits for a lock.
  mutating func appendInterpolation(free ids: [JobID], _ queue: QueueName, in schema: JobsSchema) {
    let query: PostgresQuery =
      // The server does not know an array's length, and plans a statement for one job better without.
      ids.count == 1
      ? """
      free AS MATERIALIZED (
        SELECT ctid AS place FROM \(schema.jobs)
        WHERE queue = \(queue.rawValue) AND id = \(PostgresUUID(ids[0])) FOR UPDATE SKIP LOCKED)
      """
      : """
      free AS MATERIALIZED (
        SELECT place FROM \(locked: "unnest(\(ids.map { PostgresUUID($0) })) AS asked (wanted)", queue, in: schema))
      """
    appendInterpolation(query)
  }

  /// Part of a FROM clause: those of the rows of `asked` whose job, its column `wanted`, no other transaction holds,
  /// with the place of the job.
  mutating func appendInterpolation(locked asked: PostgresQuery, _ queue: QueueName, in schema: JobsSchema) {
    let query: PostgresQuery = """
      \(asked) CROSS JOIN LATERAL (
        SELECT jobs.ctid AS place FROM \(schema.jobs) WHERE queue = \(queue.rawValue) AND id = wanted
        FOR UPDATE SKIP LOCKED) AS job
      """
    appendInterpolation(query)
  }
}
