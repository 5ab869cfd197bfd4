import DurableJobs
import LibPQClient

/// Jobs of one kind in one place.
package struct JobCountRow: Sendable, Hashable {
  package let queue: QueueName
  package let kind: JobKind
  /// nil for dead letters.
  package let state: PendingState?
  package let count: Int
}

extension JobsDatabase {
  /// Pending jobs and dead letters by queue, kind and state. It walks through both tables.
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

  /// How many jobs are pending. It walks through all of them.
  public func pendingCount() async throws -> Int {
    try await pool.query("SELECT count(*) FROM \(schema.jobs)")[0].decode(Int.self)
  }

  /// How many dead letters there are.
  public func deadCount() async throws -> Int {
    try await pool.query("SELECT count(*) FROM \(schema.deadJobs)")[0].decode(Int.self)
  }
}

/// What an app asks of the queue in a transaction of its own, where the answer must fit what else it reads.
extension JobsSchema {
  /// How many jobs of some kinds are pending.
  ///
  /// - Parameters:
  ///   - queue: nil for any; then all queues are walked through.
  ///   - timeout: nil for the connection's own.
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

  /// How many dead letters there are of some kinds.
  ///
  /// - Parameter timeout: nil for the connection's own.
  public func deadCount(
    of kinds: [JobKind], in transaction: PostgresTransaction, timeout: Duration? = nil
  ) async throws -> Int {
    try await transaction.query(
      "SELECT count(*) FROM \(deadJobs) WHERE kind = ANY(\(kinds.map(\.rawValue)))", timeout: timeout)[0]
      .decode(Int.self)
  }
}

extension PostgresQuery.StringInterpolation {
  /// A condition for a statement of the app's own, where one snapshot has to decide: true if the job is pending whose
  /// id stands in a column.
  ///
  ///     "SELECT id FROM orders WHERE NOT \(pending: "orders.job", in: "mail", of: schema)"
  ///
  /// - Parameters:
  ///   - column: written as SQL, of type `uuid`; with its table's name, since the queue's table has columns too.
  ///   - queue: the job's queue, with which the table's key begins.
  ///   - schema: the queue's.
  public mutating func appendInterpolation(pending column: String, in queue: QueueName, of schema: JobsSchema) {
    appendLiteral("EXISTS (SELECT FROM ")
    appendInterpolation(schema.jobs)
    appendLiteral(" AS pending_job WHERE pending_job.queue = ")
    appendInterpolation(queue.rawValue)
    appendLiteral(" AND pending_job.id = \(column))")
  }
}
