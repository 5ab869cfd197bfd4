import DurableJobs
import LibPQClient

/// Finds a job by its id in every table.
extension JobsDatabase {
  /// - Returns: nil if it is neither pending nor dead and no record of its end is kept.
  package func job(_ id: JobID) async throws -> JobRow? {
    for query in schema.lookups(of: id, more: "") {
      if let row = try await pool.query(query).first { return try JobRow(row) }
    }
    return nil
  }

  /// The same, with all columns of its row.
  package func wholeJob(_ id: JobID) async throws -> WholeJob? {
    for query in schema.lookups(of: id, more: ", " + WholeJob.columns) {
      if let row = try await pool.query(query).first { return try WholeJob(row) }
    }
    return nil
  }
}

extension JobsSchema {
  /// The statements that find a job, in the order in which it moves through the tables.
  ///
  /// - Parameter more: further columns.
  fileprivate func lookups(of id: JobID, more: String) -> [PostgresQuery] {
    let id = PostgresUUID(id)
    return [
      // The id alone is known here; the key starts with the queue.
      """
      \(unescaped: queuesTable)
      SELECT \(unescaped: JobRow.pending)\(unescaped: more) FROM \(jobs) JOIN queues ON queue = name WHERE id = \(id)
      """,
      "SELECT \(unescaped: JobRow.dead)\(unescaped: more) FROM \(deadJobs) WHERE id = \(id)",
      "SELECT \(unescaped: JobRow.ended)\(unescaped: more) FROM \(endedJobs) WHERE id = \(id)",
    ]
  }
}
