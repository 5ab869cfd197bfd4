#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import LibPQClient

/// The worker registry in Postgres: the tables `workers`, `queue_pauses`, `job_cancellations`, `job_minutes` and
/// `job_hours` of a queue's schema.
///
/// It has a dedicated connection, so a worker whose jobs use the whole pool still reports and receives commands.
public actor PostgresWorkerRegistry: WorkerRegistry {
  private let database: JobsDatabase
  private let limit: Duration
  private var connection: PostgresConnection?

  /// - Parameters:
  ///   - database: names the Postgres server and the schema with the tables.
  ///   - limit: how long a response may take.
  public init(_ database: JobsDatabase, limit: Duration = .seconds(5)) {
    self.database = database
    self.limit = limit
  }

  /// - Parameters:
  ///   - pool: names the Postgres server.
  ///   - schema: the schema with the tables.
  ///   - limit: how long a response may take.
  public init(pool: PostgresPool, schema: JobsSchema = .standard, limit: Duration = .seconds(5)) {
    self.init(JobsDatabase(pool: pool, schema: schema), limit: limit)
  }

  private var schema: JobsSchema { database.schema }

  public func heartbeat(_ report: WorkerReport) async throws -> WorkerCommands {
    let rows = try await send(try statements(for: report))[0]
    let (_, commands, paused, cancelled) = try rows[0].decode(
      Int.self, String?.self, [String].self, [PostgresUUID].self)
    return WorkerCommands(
      isQuiet: commands != nil, isStopped: commands == "stop",
      pausedQueues: Set(paused.map { QueueName(rawValue: $0) }), cancelled: Set(cancelled.map { JobID($0) }))
  }

  /// The statements that store a report: its row and its counts. The worker's row holds the number of the last batch,
  /// which the transaction that adds a batch raises, so a batch that is sent again adds nothing. That holds even if the
  /// first sending is still in progress in a session that was given up here, since the row is locked until that session
  /// ends.
  ///
  /// The row of a silent worker is kept for longer than its counts (`LedgerSweep`), so that a batch sent again days
  /// later, after a network partition, is not added twice either.
  private func statements(for report: WorkerReport) throws -> [PostgresQuery] {
    let queues = report.queues.map(\.queue.rawValue)
    let seen: PostgresQuery = """
      WITH seen AS (
        INSERT INTO \(schema.workers) (name, host, pid, version, started_at, state, queues, running, connections)
        VALUES (\(report.name), \(report.host), \(report.pid), \(report.version),
          to_timestamp(\(report.startedAt.unixMilliseconds) / 1000.0), \(report.state.rawValue), \(try json(report.queues)),
          \(try json(report.running)), \(try report.connections.map { try json($0) }))
        ON CONFLICT (name) DO UPDATE
          SET seen_at = now(), state = excluded.state, queues = excluded.queues, running = excluded.running,
            connections = excluded.connections
        RETURNING orders
      )
      SELECT \(endingSessionsOfLostBy: report, in: schema), (SELECT orders FROM seen),
        ARRAY(SELECT queue FROM \(schema.queuePauses) WHERE queue = ANY(\(queues))),
        ARRAY(SELECT id FROM \(schema.cancellations) WHERE queue = ANY(\(queues)) LIMIT 10000)
      """
    if report.minutes.isEmpty { return [seen] }
    return [
      seen,
      """
      WITH fresh AS (
        UPDATE \(schema.workers) SET counted = \(report.batch) WHERE name = \(report.name) AND counted < \(report.batch)
          RETURNING name
      ) \(counting: report.minutes, ifAny: "fresh", in: schema) SELECT 1
      """,
    ]
  }

  public func leave(_ report: WorkerReport) async throws {
    defer { connection = nil }
    do {
      _ = try await send(try statements(for: report) + ["DELETE FROM \(schema.workers) WHERE name = \(report.name)"])
    } catch {
      await connection?.close()
      throw error
    }
    await connection?.close()
  }

  private func send(_ queries: [PostgresQuery]) async throws -> [PostgresRows] {
    if let connection, await connection.isClosed { self.connection = nil }
    let connection: PostgresConnection
    if let open = self.connection {
      connection = open
    } else {
      connection = try await database.pool.dedicatedConnection()
      self.connection = connection
    }
    return try await connection.pipeline(queries, timeout: limit)
  }

  private func json(_ value: some Encodable) throws -> PostgresJSON {
    PostgresJSON(Array(try JSONEncoder().encode(value)))
  }
}

extension PostgresQuery.StringInterpolation {
  /// The number of server sessions of lost workers that were ended: sessions named after a worker that has not reported
  /// for longer than a lease, and in a transaction for as long. By then other workers have its jobs, and would wait for
  /// the locks of the session.
  ///
  /// Every worker's report ends them, by name (`application_name`), since only Postgres' own clock and view of its
  /// sessions decide. A broker that forgot the leases does not, nor does a limit that would also end long transactions
  /// of live workers. A worker whose own last report is that old ends none: a stalled server may have kept every worker
  /// from reporting.
  fileprivate mutating func appendInterpolation(endingSessionsOfLostBy report: WorkerReport, in schema: JobsSchema) {
    // Half a second longer, since a report may be on its way.
    let silence = (report.lease + .milliseconds(500)) / .seconds(1)
    appendLiteral(
      """
      (SELECT count(pg_terminate_backend(a.pid)) FROM \(schema.workers) w
        JOIN pg_stat_activity a ON a.application_name = left(w.name, 63) AND a.usename = current_user
          AND a.datname = current_database() AND a.xact_start < now() - make_interval(secs =>
      """)
    appendInterpolation(silence)
    appendLiteral(") WHERE w.seen_at < now() - make_interval(secs => ")
    appendInterpolation(silence)
    appendLiteral(") AND EXISTS (SELECT FROM \(schema.workers) own WHERE own.name = ")
    appendInterpolation(report.name)
    appendLiteral(" AND own.seen_at >= now() - make_interval(secs => ")
    appendInterpolation(silence)
    appendLiteral(")))")
  }

  /// Parts of a WITH clause that add minutes to the counts by the minute and by the hour, if `source` has rows.
  fileprivate mutating func appendInterpolation(
    counting minutes: [JobMinute], ifAny source: String, in schema: JobsSchema
  ) {
    // In order of the key: workers that count the same minutes wait for one another but never deadlock.
    let minutes = minutes.sorted { ($0.minute, $0.queue, $0.kind) < ($1.minute, $1.queue, $1.kind) }
    appendLiteral(
      """
      , new AS MATERIALIZED (
        SELECT to_timestamp(minute / 1000.0) AS minute, queue, kind, completed, failed, dead, run_ms, wait_ms,
          run_histogram::bigint[] AS run_histogram, wait_histogram::bigint[] AS wait_histogram FROM unnest(
      """)
    appendInterpolation(minutes.map(\.minute.unixMilliseconds))
    appendLiteral(", ")
    appendInterpolation(minutes.map(\.queue.rawValue))
    appendLiteral(", ")
    appendInterpolation(minutes.map(\.kind.rawValue))
    appendLiteral(", ")
    appendInterpolation(minutes.map { Int64($0.counts.completed) })
    appendLiteral(", ")
    appendInterpolation(minutes.map { Int64($0.counts.failed) })
    appendLiteral(", ")
    appendInterpolation(minutes.map { Int64($0.counts.dead) })
    appendLiteral(", ")
    appendInterpolation(minutes.map { $0.counts.run / .milliseconds(1) })
    appendLiteral(", ")
    appendInterpolation(minutes.map { $0.counts.wait / .milliseconds(1) })
    // Arrays of arrays would need rows of one length.
    for times in [\JobCounts.runTimes, \JobCounts.waitTimes] {
      appendLiteral(", ")
      appendInterpolation(
        minutes.map { "{\($0.counts[keyPath: times].counts.map(String.init).joined(separator: ","))}" })
    }
    let columns = "completed, failed, dead, run_ms, wait_ms, run_histogram, wait_histogram"
    appendLiteral(
      ") AS report (minute, queue, kind, \(columns)) WHERE EXISTS (SELECT FROM \(source)))")
    func merged(_ name: String) -> String { "\(name) = \(schema.histogramAdd)(old.\(name), excluded.\(name))" }
    let sum = """
      DO UPDATE SET completed = old.completed + excluded.completed, failed = old.failed + excluded.failed,
        dead = old.dead + excluded.dead, run_ms = old.run_ms + excluded.run_ms,
        wait_ms = old.wait_ms + excluded.wait_ms, \(merged("run_histogram")), \(merged("wait_histogram")))
      """
    appendLiteral(
      """
      , counted AS (
        INSERT INTO \(schema.minutes) AS old (minute, queue, kind, \(columns))
        SELECT minute, queue, kind, \(columns) FROM new ORDER BY minute, queue, kind
        ON CONFLICT (minute, queue, kind) \(sum)
      , counted_by_hour AS (
        INSERT INTO \(schema.hours) AS old (hour, queue, kind, \(columns))
        SELECT date_trunc('hour', minute, 'UTC') AS hour, queue, kind, sum(completed), sum(failed), sum(dead),
          sum(run_ms), sum(wait_ms), \(schema.histogramSum)(run_histogram), \(schema.histogramSum)(wait_histogram)
        FROM new GROUP BY 1, 2, 3 ORDER BY 1, 2, 3 ON CONFLICT (hour, queue, kind) \(sum)
      """)
  }
}
