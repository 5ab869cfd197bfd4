#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import LibPQClient

/// The statements that take a job off the pending ones with its last failure: into `dead_jobs`, or as discarded into
/// `ended_jobs`.
enum DeadRows {
  private static let columns = """
    id, queue, kind, version, priority, payload, attempts, unique_key, failures, created_at, trace, trace_span,
    trace_sampled, max_attempts, timeout_ms
    """

  static func deadLetter(_ job: DeadJob, in schema: JobsSchema) throws -> PostgresQuery {
    try """
    WITH \(ended: job, in: schema)
    INSERT INTO \(schema.deadJobs) (\(unescaped: columns)) SELECT \(unescaped: columns) FROM ended
    ON CONFLICT (id) DO NOTHING
    """
  }

  static func discard(_ job: DeadJob, in schema: JobsSchema) throws -> PostgresQuery {
    try """
    WITH \(ended: job, in: schema)
    \(unescaped: FinishedRows.insert(in: schema, "discarded", from: "ended"))
    """
  }

  /// The JSON of a value, for a column of type jsonb.
  static func json(_ value: some Encodable) throws -> String {
    // No zero byte is in it, since `JobFailure` takes none: jsonb would refuse it.
    String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
  }
}

extension PostgresQuery.StringInterpolation {
  /// Part of a WITH clause, `ended`: the row of a job with its attempts and all failures. A durable job's is deleted from
  /// the pending ones, unless another transaction holds it; then `ended` is empty.
  fileprivate mutating func appendInterpolation(ended job: DeadJob, in schema: JobsSchema) throws {
    let record = job.record
    let query: PostgresQuery =
      record.isDurable
      ? """
      \(free: [record.id], record.queue, in: schema), ended AS (
        DELETE FROM \(schema.jobs) USING free WHERE jobs.ctid = place
        RETURNING id, queue, kind, version, priority, payload, \(Int32(clamping: job.attempts)) AS attempts,
          unique_key, coalesce(failures, '[]'::jsonb) || \(try DeadRows.json(job.failure))::jsonb AS failures,
          created_at, trace, trace_span, trace_sampled, max_attempts, timeout_ms
      ), unmarked AS (
        -- An order to end the job was meant for an attempt that is over, and not for the dead letter's retry.
        DELETE FROM \(schema.cancellations) AS old USING ended WHERE old.id = ended.id
      )
      """
      : """
      ended AS (
        SELECT \(PostgresUUID(record.id)) AS id, \(record.queue.rawValue) AS queue, \(record.kind.rawValue) AS kind,
          \(Int32(clamping: record.version)) AS version, \(Int16(record.priority.rawValue)) AS priority,
          \(ledgerText(record.payload)) AS payload, \(Int32(clamping: job.attempts)) AS attempts,
          NULL::text AS unique_key, \(try DeadRows.json(record.failures + [job.failure]))::jsonb AS failures,
          \(record.createdAt) AS created_at, \(record.trace.map { PostgresUUID($0.id) }) AS trace,
          \(record.trace?.signedSpan) AS trace_span, \(record.trace?.isSampled) AS trace_sampled,
          \(record.maxAttempts.map { Int32(clamping: $0) }) AS max_attempts,
          \(record.timeout?.milliseconds) AS timeout_ms
      )
      """
    appendInterpolation(query)
  }
}
