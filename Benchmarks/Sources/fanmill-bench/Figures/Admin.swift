import Foundation
import Jobs
import JobsPostgres
import Operations
import Postgres

/// Every list and page that operators look at, beside 1,000,000 jobs that wait, 100,000 dead ones, 100,000 that have ended, and a
/// week of statistics.
enum Admin {
  private static let waiting = 1_000_000
  private static let dead = 100_000
  private static let repeats = 20
  private static let queues: [QueueName] = ["fanout", "fanout", "fanout", "notifications", "lookups"]
  private static let kinds: [JobKind] = ["posts.fan-out", "notifications.update", "lookups.run", "feed.backfill"]

  /// A question that a page or a list asks.
  private struct Question: Sendable {
    let name: String
    let ask: @Sendable () async throws -> Void

    init(_ name: String, _ ask: @escaping @Sendable () async throws -> Void) {
      self.name = name
      self.ask = ask
    }
  }

  @Sendable
  static func measure(_ stage: Stage) async throws -> [Figure] {
    var slowest = Figure(
      "slowest list of operators, 1,000,000 jobs waiting, 100,000 dead", .milliseconds, [.atMost(100)])
    var usual = Figure("median list of operators, 1,000,000 jobs waiting, 100,000 dead", .milliseconds)
    let database = try stage.needDatabase()
    stage.note("admin: filling the tables")
    try await stage.flush()
    try await fill(stage, database)
    for run in 1...stage.runs {
      stage.note("admin, run \(run)")
      var worst: (name: String, milliseconds: Double) = ("", 0)
      var medians: [Double] = []
      for question in try await questions(stage, database) {
        var samples: [Double] = []
        for _ in 0..<repeats {
          let start = ContinuousClock.now
          try await question.ask()
          samples.append(start.duration(to: .now) / .milliseconds(1))
        }
        let (median, most) = (Figure.median(samples) ?? .nan, samples.max() ?? .nan)
        stage.note(String(format: "  %7.1f ms, at most %7.1f  \(question.name)", median, most))
        medians.append(median)
        if most > worst.milliseconds { worst = (question.name, most) }
      }
      stage.note("  the slowest: \(worst.name)")
      slowest.samples.append(worst.milliseconds)
      usual.samples.append(Figure.median(medians) ?? .nan)
    }
    try await clean(stage, database)
    return [slowest, usual]
  }

  // MARK: Questions

  private static func questions(_ stage: Stage, _ database: Database) async throws -> [Question] {
    let pool = database.pool
    let jobs = JobDesk(pool: pool, broker: stage.broker, kinds: .app, logger: stage.logger)
    let queues = QueueDesk(pool: pool, broker: stage.broker)
    let statistics = Statistics(pool: pool)
    var questions: [Question] = []
    func page(_ name: String, _ filter: JobFilter) {
      questions.append(Question("jobs, \(name)") { _ = try await jobs.page(filter) })
    }
    page("all", JobFilter())
    for state in JobState.allCases { page("\(state)", JobFilter(state: state)) }
    for kind in ["posts.fan-out", "rare.kind"] {
      page("kind \(kind)", JobFilter(kind: kind))
      page("dead, kind \(kind)", JobFilter(state: .dead, kind: kind))
    }
    for queue in ["fanout", "lookups", "nobody's"] {
      page("queue \(queue)", JobFilter(queue: queue))
      page("dead, queue \(queue)", JobFilter(state: .dead, queue: queue))
    }
    page("waiting, text that is nowhere", JobFilter(state: .waiting, text: "nowhere"))
    page("dead, text that is nowhere", JobFilter(state: .dead, text: "nowhere"))
    page("ended, text that is nowhere", JobFilter(state: .cancelled, text: "nowhere"))
    page("queue, kind and text", JobFilter(kind: "rare.kind", queue: "fanout", text: "\"post\""))
    page("of the last minute", JobFilter(since: Date(timeIntervalSinceNow: -60)))
    let middle = try await database.pool.query(
      "SELECT id FROM jobs WHERE queue = 'fanout' ORDER BY id LIMIT 1 OFFSET 300000"
    )
    .decode(PostgresUUID.self).first
    if let middle { page("in the middle", JobFilter(before: JobID(middle).description)) }
    for table in ["jobs", "dead_jobs", "ended_jobs"] {
      let id = try await database.pool.query("SELECT id FROM \(unescaped: table) LIMIT 1").decode(PostgresUUID.self)
        .first
      guard let id else { throw BenchError("there is nothing in \(table)") }
      questions.append(Question("a job of \(table)") { _ = try await jobs.show(JobID(id).description) })
    }
    questions.append(Question("queues") { _ = try await queues.list() })
    questions.append(Question("a queue") { _ = try await queues.show("fanout") })
    questions.append(Question("workers") { _ = try await WorkerDesk(pool: pool).list() })
    questions.append(Question("actions") { _ = try await ActionLog(pool: pool).page() })
    questions.append(Question("actions on a queue") { _ = try await ActionLog(pool: pool).page(subject: "fanout") })
    for window in Statistics.Window.allCases {
      questions.append(Question("series, \(window)") { _ = try await statistics.series(window) })
      questions.append(Question("totals, \(window)") { _ = try await statistics.totals(window) })
      questions.append(Question("kinds, \(window)") { _ = try await statistics.kinds(window) })
    }
    return questions
  }

  // MARK: Tables

  private static func fill(_ stage: Stage, _ database: Database) async throws {
    let client = JobClient(
      broker: stage.broker, ledger: PostgresLedger(pool: database.pool), logger: stage.logger)
    let (batch, tasks) = (2000, 4)
    let later = Int64(Date().timeIntervalSince1970 * 1000) + 86_400_000
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<tasks {
        group.addTask {
          for first in stride(from: task * batch, to: waiting, by: tasks * batch) {
            let records = (first..<min(first + batch, waiting)).map { number in
              JobRecord(
                kind: kinds[number % kinds.count], queue: queues[number % queues.count],
                payload: Array(#"{"post":\#(number),"author":\#(number % 1000)}"#.utf8), isDurable: true,
                // One in twenty waits for tomorrow.
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
      UPDATE jobs SET run_at = now() + interval '1 day',
        failures = '[{"attempt":1,"at":1700000000000,"error":"it broke","worker":"w"}]'
      WHERE right(id::text, 2) = '00' AND run_at IS NULL
      """)
    try await pool.execute("UPDATE jobs SET parked = true WHERE right(id::text, 3) = 'abc'")
    for (table, columns, values) in [
      ("dead_jobs", "failures, died_at", "NULL"), ("ended_jobs", "failures, ended_at, state", "state"),
    ] {
      let state = values == "state" ? ", (ARRAY['done', 'cancelled', 'deleted'])[1 + i % 3]" : ""
      try await pool.execute(
        """
        INSERT INTO \(unescaped: table) (id, queue, kind, version, priority, payload, attempts, created_at, \(unescaped: columns))
        SELECT gen_random_uuid(), (ARRAY['fanout', 'notifications', 'lookups'])[1 + i % 3],
          CASE WHEN i % 20000 = 0 THEN 'rare.kind' ELSE (ARRAY['posts.fan-out', 'notifications.update', 'lookups.run'])[1 + i % 3] END,
          1, 1, '{"post":' || i || '}', 20, now() - i * interval '5 seconds',
          '[{"attempt":20,"at":1700000000000,"error":"it broke","worker":"w"}]', now() - i * interval '5 seconds'\(unescaped: state)
        FROM generate_series(1, \(dead)) i
        """)
    }
    // Two days of twenty kinds, each minute, and eight of each hour.
    for (table, unit, count) in [("job_minutes", "minute", 2 * 1440), ("job_hours", "hour", 8 * 24)] {
      try await pool.execute(
        """
        INSERT INTO \(unescaped: table)
        SELECT date_trunc('\(unescaped: unit)', now()) - m * interval '1 \(unescaped: unit)', 'queue ' || k % 6, 'kind ' || k,
          100, 2, 1, 1000, 2000
        FROM generate_series(0, \(count)) m, generate_series(1, 20) k
        """)
    }
    try await pool.execute(
      """
      INSERT INTO workers (name, host, pid, version, started_at, state, queues, running)
      SELECT 'worker ' || w, 'host', w, '1', now(), 'running', '[{"queue":"fanout","slots":16},{"queue":"lookups","slots":16}]',
        (SELECT jsonb_agg(jsonb_build_object('id', gen_random_uuid(), 'kind', 'posts.fan-out', 'queue', 'fanout', 'attempt', 1,
          'since', 1700000000000)) FROM generate_series(1, 32))
      FROM generate_series(1, 8) w
      """)
    try await pool.execute(
      """
      INSERT INTO actions (actor, role, action, subject)
      SELECT 'somebody', 'full', 'queues.pause', CASE WHEN i % 10 = 0 THEN 'fanout' ELSE gen_random_uuid()::text END
      FROM generate_series(1, 100000) i
      """)
    // As the server's own vacuum would have done by and by.
    try await pool.execute("VACUUM ANALYZE jobs, dead_jobs, ended_jobs, job_minutes, job_hours, workers, actions")
    try await pool.execute("CHECKPOINT")
    try BenchError.check("jobs that are owed", try await database.owedJobs(), equals: waiting)
  }

  private static func clean(_ stage: Stage, _ database: Database) async throws {
    try await database.pool.execute("TRUNCATE jobs, dead_jobs, ended_jobs, job_minutes, job_hours, workers, actions")
    try await stage.flush()
  }
}
