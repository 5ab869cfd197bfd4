/// The statement that records jobs that are no longer pending, in `ended_jobs`.
enum FinishedRows {
  private static let columns = [
    "id", "queue", "kind", "version", "priority", "payload", "attempts", "unique_key", "failures", "created_at",
    "trace", "trace_span", "trace_sampled", "max_attempts", "timeout_ms",
  ]

  /// - Parameters:
  ///   - schema: holds `ended_jobs`.
  ///   - state: `done`, `cancelled`, `deleted`, `discarded` or `replaced`.
  ///   - source: what stands after `FROM`.
  ///   - row: the column of the source that holds the whole row of `jobs` or `dead_jobs`; nil where the source has
  ///     their columns.
  static func insert(
    in schema: JobsSchema, _ state: String, from source: String, row: String? = nil
  ) -> String {
    let names = columns.joined(separator: ", ")
    let values = columns.map { column in row.map { "(\($0)).\(column)" } ?? column }.joined(separator: ", ")
    return """
      INSERT INTO \(schema.endedJobs) (\(names), state) SELECT \(values), '\(state)' FROM \(source)
      ON CONFLICT (id) DO UPDATE SET attempts = excluded.attempts, failures = excluded.failures,
        state = excluded.state, ended_at = excluded.ended_at
      """
  }
}
