import DurableJobs
import LibPQClient

/// Reads pending jobs or dead letters with all their columns, a page at a time, in order of the table's key.
extension JobsSchema {
  /// - Parameters:
  ///   - place: the last job of the previous page; nil for the first page.
  ///   - limit: the most jobs in the page; it has fewer if their payloads are large.
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
  ///   - id: the last job of the previous page; nil for the first page.
  ///   - limit: the most jobs in the page; it has fewer if their payloads are large.
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
