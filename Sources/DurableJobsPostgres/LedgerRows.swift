import DurableJobs
import LibPQClient

/// Drops NULs, which a text column cannot hold; payloads are text, and errors are for people.
func ledgerText(_ bytes: [UInt8]) -> String {
  let text = String(decoding: bytes, as: UTF8.self)
  return bytes.contains(0) ? text.replacing("\0", with: "\u{FFFD}") : text
}

extension PostgresQuery.StringInterpolation {
  /// The start of a statement that inserts jobs: it selects from `new`.
  mutating func appendInterpolation(rows jobs: ArraySlice<JobRecord>, in schema: JobsSchema) {
    let columns = """
      queue, id, kind, version, priority, payload, attempts, run_at, unique_key, trace, trace_span, trace_sampled,
      max_attempts, timeout_ms
      """
    let values = columns.replacing("run_at", with: "to_timestamp(run_at / 1000.0)")
    appendLiteral("INSERT INTO \(schema.jobs) (\(columns)) SELECT \(values) FROM unnest(")
    appendInterpolation(jobs.map(\.queue.rawValue))
    appendLiteral(", ")
    appendInterpolation(jobs.map { PostgresUUID($0.id) })
    appendLiteral(", ")
    appendInterpolation(jobs.map(\.kind.rawValue))
    appendLiteral(", ")
    appendInterpolation(jobs.map { Int32(clamping: $0.version) })
    appendLiteral(", ")
    appendInterpolation(jobs.map { Int16($0.priority.rawValue) })
    appendLiteral(", ")
    appendInterpolation(jobs.map { ledgerText($0.payload) })
    appendLiteral(", ")
    appendInterpolation(jobs.map { Int32(clamping: $0.attempts) })
    appendLiteral(", ")
    appendInterpolation(jobs.map { $0.runAt?.unixMilliseconds })
    appendLiteral(", ")
    appendInterpolation(jobs.map(\.uniqueKey))
    appendLiteral(", ")
    appendInterpolation(jobs.map { $0.trace.map { PostgresUUID($0.id) } })
    appendLiteral(", ")
    appendInterpolation(jobs.map { $0.trace?.signedSpan })
    appendLiteral(", ")
    appendInterpolation(jobs.map { $0.trace?.isSampled })
    appendLiteral(", ")
    appendInterpolation(jobs.map { $0.maxAttempts.map { Int32(clamping: $0) } })
    appendLiteral(", ")
    appendInterpolation(jobs.map { $0.timeout?.milliseconds })
    appendLiteral(") AS new (\(columns))")
  }
}
