import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import LibPQClient

/// No-op jobs in the ledger: from the first enqueue call until none is pending.
enum Durable {
  private static let jobs = 100_000
  private static let jobsPerCall = 1_000
  private static let tasks = 4

  /// The rows that the ledger would write for these jobs, inserted and deleted by plain statements.
  private static let sqlIn = """
    INSERT INTO jobs.jobs (queue, id, kind, version, priority, payload)
    SELECT 'raw', lpad(to_hex(n), 32, '0')::uuid, 'bench.no-op', 1, 1, '{"number":' || n || '}'
    FROM generate_series($1::bigint, $1::bigint + $2::bigint - 1) n
    """
  private static let sqlOut = """
    DELETE FROM jobs.jobs WHERE queue = 'raw' AND id = ANY (ARRAY(
      SELECT lpad(to_hex(n), 32, '0')::uuid FROM generate_series($1::bigint, $1::bigint + $2::bigint - 1) n))
    """

  @Sendable
  static func measure(_ stage: Stage) async throws -> [Figure] {
    var figure = Figure("durable no-op jobs, bulk, from enqueue to completed", .perSecond, [.atLeast(30_000)])
    let database = try stage.needDatabase()
    let client = JobClient(
      broker: stage.broker, ledger: PostgresLedger(pool: database.pool), logger: stage.logger)
    for run in 1...stage.runs {
      stage.note("durable, run \(run)")
      try await stage.flush()
      let worker = try await stage.startWorker(database: database)
      let start = ContinuousClock.now
      try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<tasks {
          group.addTask {
            for call in stride(from: task, to: jobs / jobsPerCall, by: tasks) {
              let first = call * jobsPerCall
              try await client.enqueue((first..<first + jobsPerCall).map { NoOp(number: $0) })
            }
          }
        }
        try await group.waitForAll()
      }
      try await stage.waitForCount(jobs, by: worker)
      while try await database.pendingJobs() > 0 { try await Task.sleep(for: .milliseconds(2)) }
      let seconds = start.duration(to: .now) / .seconds(1)
      try await worker.stop()
      try BenchError.check("durable jobs handled", stage.board.counted, equals: jobs)
      try BenchError.check("dead letters", try await database.count("SELECT count(*) FROM jobs.dead_jobs"), equals: 0)
      figure.samples.append(Double(jobs) / seconds)
      figure.raw.append(
        try Raw.ledger(database.url, in: sqlIn, out: sqlOut, count: jobs, batch: jobsPerCall))
    }
    return [figure]
  }
}
