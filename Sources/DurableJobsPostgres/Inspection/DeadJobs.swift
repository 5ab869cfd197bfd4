#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import LibPQClient

/// A batch of dead letters.
package enum DeadBatch: Sendable {
  case one(JobID)
  /// The next after an id, of all kinds or of one.
  case next(after: JobID, DeadFilter, limit: Int)
}

/// Retries and deletes dead letters.
extension JobsSchema {
  /// The records of a batch, locked, in order of their ids; fewer if their payloads are large.
  package func lockedRecords(_ batch: DeadBatch, in transaction: PostgresTransaction) async throws -> [JobRecord] {
    try await transaction.query(
      """
      SELECT id, queue, kind, version, priority, payload, unique_key, trace, trace_span, trace_sampled, max_attempts,
        timeout_ms
      FROM \(deadJobs) WHERE id IN (
        SELECT id FROM (
          SELECT id, octet_length(payload) AS size,
            sum(octet_length(payload)) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS total
          FROM \(deadJobs) WHERE \(batch, self)
        ) AS next WHERE total <= \(PayloadLimit.batch) OR total = size
      ) ORDER BY id FOR UPDATE
      """
    ).map { row in
      let (
        id, queue, kind, version, priority, payload, uniqueKey, trace, span, isSampled, maxAttempts, timeout
      ) = try row.decode(
        PostgresUUID.self, String.self, String.self, Int.self, Int.self, String.self, String?.self, PostgresUUID?.self,
        Int64?.self, Bool?.self, Int?.self, Int64?.self)
      return JobRecord(
        id: JobID(id), kind: JobKind(rawValue: kind), queue: QueueName(rawValue: queue),
        priority: JobPriority(rawValue: UInt8(clamping: priority)) ?? .normal, version: version,
        payload: Array(payload.utf8), isDurable: true, uniqueKey: uniqueKey, maxAttempts: maxAttempts,
        timeout: timeout.map { .milliseconds($0) }, trace: TraceContext(trace, span: span, isSampled: isSampled))
    }
  }

  /// Deletes dead letters that are pending again, and copies their errors to the pending jobs.
  package func forgetDead(_ ids: [JobID], in transaction: PostgresTransaction) async throws {
    if ids.isEmpty { return }
    let ids = ids.map { PostgresUUID($0) }
    // An order to end one of them was for an attempt before its death.
    try await transaction.execute("DELETE FROM \(cancellations) WHERE id = ANY(\(ids))")
    try await transaction.execute(
      """
      WITH gone AS (
        DELETE FROM \(deadJobs) WHERE id = ANY(\(ids)) RETURNING id, queue, failures, created_at
      )
      UPDATE \(jobs) SET failures = gone.failures, created_at = gone.created_at
      FROM gone WHERE jobs.queue = gone.queue AND jobs.id = gone.id
      """)
  }

  /// Deletes a batch and keeps a record of each.
  ///
  /// - Returns: their ids, in order.
  package func deleteDead(
    _ batch: DeadBatch, as end: EndState = .deleted, in transaction: PostgresTransaction
  ) async throws -> [JobID] {
    let ids = try await transaction.query("SELECT id FROM \(deadJobs) WHERE \(batch, self) FOR UPDATE")
      .decode(PostgresUUID.self).map { JobID($0) }.sorted()
    if ids.isEmpty { return [] }
    try await transaction.execute(
      """
      WITH gone AS (DELETE FROM \(deadJobs) WHERE id = ANY(\(ids.map { PostgresUUID($0) })) RETURNING *)
      \(unescaped: FinishedRows.insert(in: self, end.rawValue, from: "gone"))
      """)
    return ids
  }
}

/// A condition on dead letters; nil for any.
package struct DeadFilter: Sendable, Hashable {
  package var kind: String?
  package var queue: String?
  /// A part of the last error.
  package var error: String?
  /// When they died at the earliest.
  package var since: Date?

  package init(kind: String? = nil, queue: String? = nil, error: String? = nil, since: Date? = nil) {
    self.kind = kind
    self.queue = queue
    self.error = error
    self.since = since
  }
}

extension JobsDatabase {
  /// The number of dead letters that pass a filter, by kind.
  package func deadCounts(_ filter: DeadFilter) async throws -> [(kind: String, count: Int)] {
    try await pool.query(
      "SELECT kind, count(*) FROM \(schema.deadJobs) WHERE \(filter) GROUP BY kind ORDER BY kind"
    ).decode(String.self, Int.self).map { (kind: $0.0, count: $0.1) }
  }
}

extension PostgresQuery.StringInterpolation {
  fileprivate mutating func appendInterpolation(_ filter: DeadFilter) {
    appendLiteral("true")
    if let kind = filter.kind {
      appendLiteral(" AND kind = ")
      appendInterpolation(kind)
    }
    if let queue = filter.queue {
      appendLiteral(" AND queue = ")
      appendInterpolation(queue)
    }
    if let since = filter.since {
      appendLiteral(" AND died_at >= ")
      appendInterpolation(since)
    }
    if let error = filter.error {
      appendLiteral(" AND strpos(failures->-1->>'error', ")
      appendInterpolation(error)
      appendLiteral(") > 0")
    }
  }

  /// The SQL condition for a batch.
  fileprivate mutating func appendInterpolation(_ batch: DeadBatch, _ schema: JobsSchema) {
    switch batch {
    case .one(let id):
      appendLiteral("id = ")
      appendInterpolation(PostgresUUID(id))
    case .next(let after, let filter, let limit):
      appendLiteral("id IN (SELECT id FROM ")
      appendInterpolation(schema.deadJobs)
      appendLiteral(" WHERE id > ")
      appendInterpolation(PostgresUUID(after))
      appendLiteral(" AND ")
      appendInterpolation(filter)
      appendLiteral(" ORDER BY id LIMIT ")
      appendInterpolation(limit)
      appendLiteral(")")
    }
  }
}
