import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// The rankings of 1,000,000 celebs by 10,000,000 hearts: recounted by a worker, and updated after 10,000 more hearts.
enum Rankings {
  private static let celebs = 1_000_000
  private static let hearts = 10_000_000
  private static let fans = 3_000_000
  private static let more = 10_000

  @Sendable
  static func measure(_ stage: Stage) async throws -> [Figure] {
    var full = Figure("rankings counted anew, 1,000,000 celebs, 10,000,000 hearts", .seconds, [.atMost(60)])
    var memory = Figure("the worker's memory meanwhile", .megabytes, [.atMost(150)])
    var counting = Figure("10,000 new hearts counted, in batches of 500", .seconds)
    var grown = Figure("rankings after 10,000 new hearts", .seconds, [.atMost(1)])
    let database = try stage.needDatabase()
    let programs = try stage.programs()
    try await stage.flush()
    for run in 1...stage.runs {
      stage.note("rankings, run \(run): filling the tables")
      try await fill(database)
      let worker = try await programs.startWorker(schedules: false)
      let jobs = JobClient(
        broker: stage.broker, ledger: PostgresLedger(pool: database.pool), logger: stage.logger)
      try await database.pool.execute("CHECKPOINT")
      full.samples.append(
        try await refresh(database, worker) { _ = try await jobs.enqueue(AskedRefresh(recount: true)) })
      memory.samples.append(try worker.usage().peakMegabytes)
      counting.samples.append(try await count(database))
      grown.samples.append(try await refresh(database, worker) { _ = try await jobs.enqueue(AskedRefresh()) })
      try await worker.stop()
      let changes = try await database.count("SELECT changes FROM ranking_snapshots ORDER BY id DESC LIMIT 1")
      guard changes > more / 2 else { throw BenchError("the ranking took up \(changes) celebs") }
      try BenchError.check(
        "entries that differ", try await database.count("SELECT count(*) FROM audit_rankings(NULL, 1)"), equals: 0)
    }
    return [full, memory, counting, grown]
  }

  /// Hearts and followers of 40 days: half spread evenly, half on a few celebs.
  private static func fill(_ database: Database) async throws {
    try await database.pool.execute(
      """
      TRUNCATE celebs, celeb_fans, celeb_fan_levels, celeb_fan_changes, hearts, ranking_lists, ranking_snapshots,
        ranking_changes RESTART IDENTITY
      """
    )
    try await database.pool.execute(
      """
      INSERT INTO celebs (platform, account)
      SELECT CASE WHEN i % 5 = 0 THEN 'instagram' ELSE 'youtube' END, 'UC' || lpad(md5(i::text), 22, 'x')
      FROM generate_series(1, \(celebs)) i
      """)
    let celeb = "1 + (\(celebs - 1) * CASE WHEN i % 2 = 0 THEN random() ELSE power(random(), 4) END)::bigint"
    try await database.pool.execute(
      """
      INSERT INTO hearts (celeb_id, account_id, given_at)
      SELECT \(unescaped: celeb), i % \(fans), now() - random() * interval '40 days'
        FROM generate_series(1, \(hearts)) i
      """)
    try await database.pool.execute(
      """
      INSERT INTO celeb_fan_changes (celeb_id, account_id, since, change, at)
      SELECT \(unescaped: celeb), i, moment, 1, moment
      FROM (SELECT i, now() - random() * interval '40 days' AS moment FROM generate_series(1, \(fans)) i) fan
      """)
    try await database.pool.execute("VACUUM ANALYZE celebs, hearts, celeb_fan_changes")
  }

  /// Adds the new hearts and counts them as the job does.
  private static func count(_ database: Database) async throws -> Double {
    try await database.pool.execute(
      """
      INSERT INTO hearts (celeb_id, account_id, given_at)
      SELECT 1 + (\(celebs - 1) * CASE WHEN i % 2 = 0 THEN random() ELSE power(random(), 4) END)::bigint, i, now()
      FROM generate_series(1, \(more)) i
      """)
    let start = ContinuousClock.now
    try await database.pool.execute(
      """
      SELECT count(count_celebs(celebs, times, array_fill(1, ARRAY[500]), array_fill(0, ARRAY[500]), times)) FROM (
        SELECT array_agg(celeb_id) AS celebs, array_agg(to_microseconds(given_at)) AS times
        FROM (SELECT *, row_number() OVER () AS i FROM hearts WHERE given_at = (SELECT max(given_at) FROM hearts)) h
        GROUP BY (i - 1) / 500
      ) batch
      """)
    return start.duration(to: .now) / .seconds(1)
  }

  /// The seconds from enqueuing the job until its snapshot exists.
  private static func refresh(
    _ database: Database, _ worker: Child, ask: () async throws -> Void
  ) async throws -> Double {
    let before = try await database.count("SELECT count(*) FROM ranking_snapshots")
    let asked = ContinuousClock.now
    try await ask()
    while try await database.count("SELECT count(*) FROM ranking_snapshots") == before {
      guard worker.isRunning, asked.duration(to: .now) < .seconds(300) else { throw BenchError("no ranking was made") }
      try await Task.sleep(for: .milliseconds(2))
    }
    return asked.duration(to: .now) / .seconds(1)
  }
}

/// The app's job, as a client enqueues it.
private struct AskedRefresh: Job {
  static let kind: JobKind = "rankings.refresh"
  static let queue: QueueName = "rankings"

  var recount = false
}
