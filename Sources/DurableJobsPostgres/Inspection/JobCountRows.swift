import DurableJobs
import LibPQClient

/// The number of jobs of one kind in one state.
package struct JobCountRow: Sendable, Hashable {
  package let queue: QueueName
  package let kind: JobKind
  /// nil for dead letters.
  package let state: PendingState?
  package let count: Int
}

extension JobsDatabase {
  /// Counts pending jobs and dead letters by queue, kind and state. It scans both tables.
  package func jobCounts() async throws -> [JobCountRow] {
    try await pool.query(
      """
      SELECT queue, kind, \(unescaped: PendingState.column), count(*) FROM \(schema.jobs) GROUP BY 1, 2, 3
      UNION ALL SELECT queue, kind, 'dead', count(*) FROM \(schema.deadJobs) GROUP BY 1, 2
      """, timeout: .seconds(60)
    ).decode(String.self, String.self, String.self, Int.self).map {
      JobCountRow(
        queue: QueueName(rawValue: $0), kind: JobKind(rawValue: $1), state: PendingState(rawValue: $2), count: $3)
    }
  }

  /// The number of pending jobs. It scans all of them.
  public func pendingCount() async throws -> Int {
    try await pool.query("SELECT count(*) FROM \(schema.jobs)")[0].decode(Int.self)
  }

  /// The number of dead letters.
  public func deadCount() async throws -> Int {
    try await pool.query("SELECT count(*) FROM \(schema.deadJobs)")[0].decode(Int.self)
  }
}

/// Queries for an app's own transaction, where the result must agree with its other reads.
extension JobsSchema {
  /// The number of pending jobs of some kinds.
  ///
  /// - Parameters:
  ///   - queue: nil for any; then all queues are scanned.
  ///   - timeout: nil keeps the connection's own.
  public func pendingCount(
    of kinds: [JobKind], queue: QueueName? = nil, in transaction: PostgresTransaction, timeout: Duration? = nil
  ) async throws -> Int {
    let kinds = kinds.map(\.rawValue)
    let query: PostgresQuery =
      if let queue {
        "SELECT count(*) FROM \(jobs) WHERE queue = \(queue.rawValue) AND kind = ANY(\(kinds))"
      } else {
        "SELECT count(*) FROM \(jobs) WHERE kind = ANY(\(kinds))"
      }
    return try await transaction.query(query, timeout: timeout)[0].decode(Int.self)
  }

  /// The number of dead letters of some kinds.
  ///
  /// - Parameter timeout: nil keeps the connection's own.
  public func deadCount(
    of kinds: [JobKind], in transaction: PostgresTransaction, timeout: Duration? = nil
  ) async throws -> Int {
    try await transaction.query(
      "SELECT count(*) FROM \(deadJobs) WHERE kind = ANY(\(kinds.map(\.rawValue)))", timeout: timeout)[0]
      .decode(Int.self)
  }
}

extension PostgresQuery.StringInterpolation {
  /// A condition for an app's own statement, where one snapshot must decide: true if the job whose id is in a column is
  /// pending.
  ///
  ///     "SELECT id FROM orders WHERE NOT \(pending: "orders.job", in: "mail", of: schema)"
  ///
  /// - Parameters:
  ///   - column: SQL of type `uuid`; qualified with its table's name, since the queue's table has columns too.
  ///   - queue: the job's queue, the first column of the table's key.
  ///   - schema: the queue's schema.
  public mutating func appendInterpolation(pending column: String, in queue: QueueName, of schema: JobsSchema) {
    appendLiteral("EXISTS (SELECT FROM ")
    appendInterpolation(schema.jobs)
    appendLiteral(" AS pending_job WHERE pending_job.queue = ")
    appendInterpolation(queue.rawValue)
    appendLiteral(" AND pending_job.id = \(column))")
  }
}
