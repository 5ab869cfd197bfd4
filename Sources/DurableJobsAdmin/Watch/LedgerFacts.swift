import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// What a sample takes from Postgres.
struct LedgerFacts: Sendable {
  /// Of the last three minutes.
  var minutes: [(minute: StackSampler.Minute, counted: StackSampler.Counted)] = []
  /// By queue, of the workers that are heard of and do not stop: how many serve it, and with how many slots together.
  var workers: [String: (count: Int, slots: Int)] = [:]
  /// By queue, since when the job runs that runs longest.
  var running: [String: Date] = [:]
  var paused: Set<String> = []
  /// Queues with an alarm that is not over: looked at until it is, though nothing else may speak of them any more.
  var alarmed: Set<String> = []
  /// For how many seconds the oldest snapshot has been held; 0 without any.
  var oldestSnapshot = 0.0

  /// One round trip; none of it looks at the jobs themselves.
  static func read(_ pool: PostgresPool) async throws -> LedgerFacts {
    let rows = try await pool.pipeline([
      """
      SELECT queue, extract(epoch FROM minute)::bigint, sum(completed + failed + dead)::bigint, sum(run_ms) / 1000
      FROM job_minutes WHERE minute > now() - interval '3 minutes' GROUP BY queue, minute
      """,
      """
      SELECT served->>'queue', count(*), sum((served->>'slots')::bigint)::bigint
      FROM workers, jsonb_array_elements(queues) AS served
      WHERE \(unescaped: WorkerPresence.isHeard) AND state <> 'stopping' GROUP BY 1
      """,
      """
      SELECT job->>'queue', to_timestamp(min((job->>'since')::bigint) / 1000.0)
      FROM workers, jsonb_array_elements(running) AS job WHERE \(unescaped: WorkerPresence.isHeard) GROUP BY 1
      """,
      "SELECT queue FROM queue_pauses",
      "SELECT DISTINCT queue FROM alarms WHERE closed_at IS NULL",
      OldestSnapshot.query,
    ])
    var facts = LedgerFacts()
    for row in rows[0] {
      let (queue, start, ended, seconds) = try row.decode(String.self, Int.self, Int.self, Double.self)
      facts.minutes.append(
        (StackSampler.Minute(queue: queue, start: start), StackSampler.Counted(ended: ended, slotSeconds: seconds)))
    }
    for row in rows[1] {
      let (queue, count, slots) = try row.decode(String.self, Int.self, Int.self)
      facts.workers[queue] = (count, slots)
    }
    for row in rows[2] {
      let (queue, since) = try row.decode(String.self, Date.self)
      facts.running[queue] = since
    }
    facts.paused = Set(try rows[3].map { try $0.decode(String.self) })
    facts.alarmed = Set(try rows[4].map { try $0.decode(String.self) })
    facts.oldestSnapshot = try OldestSnapshot.decode(rows[5])?.seconds ?? 0
    return facts
  }

  /// When the oldest job that is pending in a queue and due at once was made.
  static func oldestPending(in queue: QueueName, _ pool: PostgresPool) async throws -> Date? {
    let rows = try await pool.query(
      """
      SELECT id FROM jobs WHERE queue = \(queue.rawValue) AND run_at IS NULL AND NOT parked ORDER BY id LIMIT 1
      """)
    return try rows.first.map {
      Date(timeIntervalSince1970: Double(JobID(try $0.decode(PostgresUUID.self)).milliseconds) / 1000)
    }
  }

  /// The ledger's jobs and the dead letters by queue, kind and state. It walks through both.
  static func count(_ pool: PostgresPool) async throws -> [(queue: String, kind: String, state: String, count: Int)] {
    try await pool.query(
      """
      SELECT queue, kind, CASE WHEN parked THEN 'parked' WHEN run_at > now() AND failures IS NOT NULL THEN 'retrying'
        WHEN run_at > now() THEN 'delayed' ELSE 'waiting' END, count(*)
      FROM jobs GROUP BY 1, 2, 3
      UNION ALL SELECT queue, kind, 'dead', count(*) FROM dead_jobs GROUP BY 1, 2
      """, timeout: .seconds(60)
    ).map { try $0.decode(String.self, String.self, String.self, Int.self) }
  }
}
