import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// The contents of the tables for operators' pages: 1,000,000 waiting jobs, 100,000 dead ones, 100,000 ended ones, a
/// week of statistics, and a ranking of 10,000 celebs.
enum AdminTables {
  private static let waiting = 1_000_000
  private static let dead = 100_000
  private static let queues: [QueueName] = ["fanout", "fanout", "fanout", "notifications", "lookups"]
  private static let kinds: [JobKind] = ["posts.fan-out", "notifications.update", "lookups.run", "feed.backfill"]

  static func fill(_ stage: Stage, _ database: Database) async throws {
    let client = JobClient(
      broker: stage.broker, ledger: PostgresLedger(pool: database.pool), logger: stage.logger)
    let (batch, tasks) = (2000, 4)
    let later = Date() + 86_400
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<tasks {
        group.addTask {
          for first in stride(from: task * batch, to: waiting, by: tasks * batch) {
            let records = (first..<min(first + batch, waiting)).map { number in
              JobRecord(
                kind: kinds[number % kinds.count], queue: queues[number % queues.count],
                payload: Array(#"{"post":\#(number),"author":\#(number % 1000)}"#.utf8), isDurable: true,
                // One in twenty is due tomorrow.
                runAt: number % 20 == 0 ? later : nil)
            }
            try await client.transaction { try await $0.add(records) }
          }
        }
      }
      try await group.waitForAll()
    }
    let pool = database.pool
    // One in two hundred has failed, one in a thousand is parked.
    try await pool.execute(
      """
      UPDATE jobs.jobs SET run_at = now() + interval '1 day',
        failures = '[{"attempt":1,"at":1700000000000,"error":"it broke","worker":"w"}]'
      WHERE right(id::text, 2) = '00' AND run_at IS NULL
      """)
    try await pool.execute("UPDATE jobs.jobs SET parked = true WHERE right(id::text, 3) = 'abc'")
    for (table, columns, values) in [
      ("dead_jobs", "failures, died_at", "NULL"), ("ended_jobs", "failures, ended_at, state", "state"),
    ] {
      let state = values == "state" ? ", (ARRAY['done', 'cancelled', 'deleted'])[1 + i % 3]" : ""
      try await pool.execute(
        """
        INSERT INTO \(unescaped: table) (id, queue, kind, version, priority, payload, attempts, created_at,
          \(unescaped: columns))
        SELECT gen_random_uuid(), (ARRAY['fanout', 'notifications', 'lookups'])[1 + i % 3],
          CASE WHEN i % 20000 = 0 THEN 'rare.kind' ELSE (ARRAY['posts.fan-out', 'notifications.update', 'lookups.run'])[1 + i % 3] END,
          1, 1, '{"post":' || i || '}', 20, now() - i * interval '5 seconds',
          '[{"attempt":20,"at":1700000000000,"error":"it broke","worker":"w"}]', now() - i * interval '5 seconds'\(unescaped: state)
        FROM generate_series(1, \(dead)) i
        """)
    }
    // Twenty kinds: each minute of two days, and each hour of eight.
    for (table, unit, count) in [("job_minutes", "minute", 2 * 1440), ("job_hours", "hour", 8 * 24)] {
      try await pool.execute(
        """
        INSERT INTO \(unescaped: table)
        SELECT date_trunc('\(unescaped: unit)', now()) - m * interval '1 \(unescaped: unit)', 'queue ' || k % 6,
          'kind ' || k,
          100, 2, 1, 1000, 2000
        FROM generate_series(0, \(count)) m, generate_series(1, 20) k
        """)
    }
    try await pool.execute(
      """
      INSERT INTO jobs.workers (name, host, pid, version, started_at, state, queues, running)
      SELECT 'worker ' || w, 'host', w, '1', now(), 'running',
        '[{"queue":"fanout","slots":16},{"queue":"lookups","slots":16}]',
        (SELECT jsonb_agg(jsonb_build_object('id', gen_random_uuid(), 'kind', 'posts.fan-out', 'queue', 'fanout',
          'attempt', 1,
          'since', 1700000000000)) FROM generate_series(1, 32))
      FROM generate_series(1, 8) w
      """)
    try await pool.execute(
      """
      INSERT INTO jobs.actions (actor, role, action, subject)
      SELECT 'somebody', 'full', 'queues.pause', CASE WHEN i % 10 = 0 THEN 'fanout' ELSE gen_random_uuid()::text END
      FROM generate_series(1, 100000) i
      """)
    try await fillRankings(pool)
    // The server's autovacuum would eventually do the same.
    try await pool.execute(
      "VACUUM ANALYZE \(unescaped: tables), celebs")
    try await pool.execute("CHECKPOINT")
    try BenchError.check("pending jobs", try await database.pendingJobs(), equals: waiting)
  }

  /// Two snapshots of a list of the default length, in which every rank has changed.
  private static func fillRankings(_ pool: PostgresPool) async throws {
    try await pool.execute("TRUNCATE \(unescaped: rankings) RESTART IDENTITY")
    try await pool.execute(
      """
      INSERT INTO celebs (platform, account, hearts)
      SELECT 'youtube', 'UC' || lpad(md5(i::text), 22, 'x'), i FROM generate_series(1, 100000) i
      """)
    try await pool.execute(
      "INSERT INTO ranking_snapshots (computed_at, is_full, depth, changes) SELECT now(), true, 10000, 0 FROM generate_series(1, 2)"
    )
    try await pool.execute(
      """
      INSERT INTO ranking_lists
      SELECT 'youtube', 'hearts', 'all', s, '-infinity', false, array_agg(i), array_agg(100000 - i), array_agg(0),
        array_agg(now())
      FROM generate_series(1, 2) s, LATERAL (SELECT i FROM generate_series(1, 11000) i ORDER BY i * s % 7, i) o
        GROUP BY s
      """)
  }

  private static let tables = """
    jobs.jobs, jobs.dead_jobs, jobs.ended_jobs, jobs.job_minutes, jobs.job_hours, jobs.workers, jobs.actions
    """
  private static let rankings = "celebs, ranking_snapshots, ranking_lists, ranking_changes"

  static func clean(_ stage: Stage, _ database: Database) async throws {
    try await database.pool.execute(
      "TRUNCATE \(unescaped: tables), \(unescaped: rankings)")
    try await stage.flush()
  }
}
