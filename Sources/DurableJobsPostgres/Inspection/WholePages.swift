import DurableJobs
import LibPQClient

/// Pending jobs or dead letters with all that their rows have, a page at a time, in the order of the table's key.
extension JobsSchema {
  /// - Parameters:
  ///   - place: of the last job of the page before; nil for the first page.
  ///   - limit: how many jobs; fewer where their payloads are large.
  package func pendingPage(
    after place: (queue: QueueName, id: JobID)?, limit: Int, in transaction: PostgresTransaction
  ) async throws -> [WholeJob] {
    let (queue, id) = (place?.queue.rawValue ?? "", PostgresUUID(place?.id ?? JobID(high: 0, low: 0)))
    return try await whole(
      """
      SELECT * FROM (
        SELECT *, octet_length(payload) AS size,
          sum(octet_length(payload)) OVER (ORDER BY queue, id ROWS UNBOUNDED PRECEDING) AS total
        FROM (
          SELECT \(unescaped: JobRow.pending), \(unescaped: WholeJob.columns) FROM \(jobs)
          WHERE (queue, id) > (\(queue), \(id)) ORDER BY queue, id LIMIT \(limit)
        ) AS page
      ) AS bounded WHERE total <= \(PayloadLimit.batch) OR total = size ORDER BY queue, id
      """, in: transaction)
  }

  /// - Parameters:
  ///   - id: of the last job of the page before; nil for the first page.
  ///   - limit: how many jobs; fewer where their payloads are large.
  package func deadPage(
    after id: JobID?, limit: Int, in transaction: PostgresTransaction
  ) async throws -> [WholeJob] {
    let id = PostgresUUID(id ?? JobID(high: 0, low: 0))
    return try await whole(
      """
      SELECT * FROM (
        SELECT *, octet_length(payload) AS size,
          sum(octet_length(payload)) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS total
        FROM (
          SELECT \(unescaped: JobRow.dead), \(unescaped: WholeJob.columns) FROM \(deadJobs)
          WHERE id > \(id) ORDER BY id LIMIT \(limit)
        ) AS page
      ) AS bounded WHERE total <= \(PayloadLimit.batch) OR total = size ORDER BY id
      """, in: transaction)
  }

  private func whole(_ query: PostgresQuery, in transaction: PostgresTransaction) async throws -> [WholeJob] {
    try await transaction.query(query, timeout: .seconds(600)).map { try WholeJob($0) }
  }
}
