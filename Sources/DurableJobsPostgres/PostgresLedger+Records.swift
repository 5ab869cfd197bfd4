import DurableJobs
import LibPQClient

extension PostgresLedger {
  public func records(_ ids: [JobID], queue: QueueName) async throws -> [JobRecord] {
    // The length of a payload is known without reading it, and one that stays here is not read.
    let rows = try await pool.query(
      """
      SELECT id, kind, version, priority, attempts, run_at, unique_key, trace, size,
        CASE WHEN size <= \(PayloadLimit.carried) THEN payload END AS payload
      FROM (
        SELECT id, kind, version, priority, attempts, unique_key, trace, payload, octet_length(payload) AS size,
          CASE WHEN run_at IS NOT NULL
            -- Whoever wrote 'infinity' gets a time that milliseconds can say.
            THEN (extract(epoch FROM least(greatest(run_at, 'epoch'), '9999-12-31')) * 1000)::bigint END AS run_at,
          sum(CASE WHEN octet_length(payload) <= \(PayloadLimit.carried) THEN octet_length(payload) ELSE 0 END)
            OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS total
        FROM \(schema.jobs) WHERE queue = \(queue.rawValue) AND id = ANY(\(ids.map { PostgresUUID($0) })) AND NOT parked
      ) AS found
      WHERE total <= \(PayloadLimit.batch) ORDER BY id
      """)
    return try rows.map { row in
      let (id, kind, version, priority, attempts, runAt, uniqueKey, trace, size, payload) = try row.decode(
        PostgresUUID.self, String.self, Int.self, Int16.self, Int.self, Int64?.self, String?.self, PostgresUUID?.self,
        Int.self, String?.self)
      return JobRecord(
        id: JobID(id), kind: JobKind(rawValue: kind), queue: queue,
        priority: JobPriority(rawValue: UInt8(clamping: priority)) ?? .normal, version: version,
        payload: payload.map { Array($0.utf8) } ?? [], isDurable: true, attempts: attempts, runAt: runAt,
        uniqueKey: uniqueKey, trace: trace.flatMap { TraceID($0) }, payloadInLedger: payload == nil ? size : nil)
    }
  }

  public func payloads(_ ids: [JobID], queue: QueueName) async throws -> [JobID: [UInt8]] {
    let rows = try await pool.query(
      """
      SELECT id, payload FROM \(schema.jobs) WHERE queue = \(queue.rawValue)
        AND id = ANY(\(ids.map { PostgresUUID($0) }))
      """)
    var payloads: [JobID: [UInt8]] = [:]
    // As bytes: a text of that size is copied once.
    for row in rows { payloads[JobID(try PostgresUUID(postgres: row[0]))] = try row[1].withBytes { Array($0) } }
    return payloads
  }
}
