#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import LibPQClient

/// Retries and deletes dead letters.
extension JobsSchema {
  /// The records of dead letters, locked, in order of their ids; the first of them if their payloads are large.
  package func lockedRecords(_ ids: [JobID], in transaction: PostgresTransaction) async throws -> [JobRecord] {
    try await transaction.query(
      """
      SELECT id, queue, kind, version, priority, payload, unique_key, trace, trace_span, trace_sampled, max_attempts,
        timeout_ms
      FROM \(deadJobs) WHERE id IN (
        SELECT id FROM (
          SELECT id, octet_length(payload) AS size,
            sum(octet_length(payload)) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS total
          FROM \(deadJobs) WHERE id = ANY(\(ids.map { PostgresUUID($0) }))
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

  /// Deletes dead letters and keeps a record of each.
  ///
  /// - Returns: their ids, in order.
  package func deleteDead(
    _ wanted: [JobID], as end: EndState = .deleted, in transaction: PostgresTransaction
  ) async throws -> [JobID] {
    let ids = try await transaction.query(
      "SELECT id FROM \(deadJobs) WHERE id = ANY(\(wanted.map { PostgresUUID($0) })) ORDER BY id FOR UPDATE"
    ).decode(PostgresUUID.self).map { JobID($0) }
    if ids.isEmpty { return [] }
    try await transaction.execute(
      """
      WITH gone AS (DELETE FROM \(deadJobs) WHERE id = ANY(\(ids.map { PostgresUUID($0) })) RETURNING *)
      \(unescaped: FinishedRows.insert(in: self, end.rawValue, from: "gone"))
      """)
    return ids
  }
}
