#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import LibPQClient

/// A failed job: dead or retrying.
package struct FailedJobRow: Sendable, Hashable {
  package let id: JobID
  package let kind: JobKind
  package let isDead: Bool
  /// When it died, or its latest attempt failed.
  package let at: Date
  package let error: String?
}

extension JobsDatabase {
  /// The newest dead letters and each queue's newest retrying jobs, newest first.
  package func failedJobs(of queues: [QueueName], limit: Int) async throws -> [FailedJobRow] {
    try await pool.query(
      """
      SELECT id, kind, is_dead, at, error FROM (
        (SELECT id, kind, true AS is_dead, died_at AS at, failures->-1->>'error' AS error FROM \(schema.deadJobs)
          ORDER BY died_at DESC, id DESC LIMIT \(limit))
        UNION ALL
        SELECT x.* FROM unnest(\(queues.map(\.rawValue))) AS queues (name), LATERAL (
          SELECT id, kind, false, to_timestamp((failures->-1->>'at')::bigint / 1000.0), failures->-1->>'error'
          FROM \(schema.jobs) WHERE queue = name AND failures IS NOT NULL ORDER BY id DESC LIMIT \(limit)
        ) x
      ) failed ORDER BY at DESC LIMIT \(limit)
      """
    ).decode(PostgresUUID.self, String.self, Bool.self, Date.self, String?.self).map {
      FailedJobRow(id: JobID($0), kind: JobKind(rawValue: $1), isDead: $2, at: $3, error: $4)
    }
  }
}
