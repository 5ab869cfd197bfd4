import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import DurableJobsTesting
import HiredisClient
import LibPQClient

/// How long a job waits for an idle worker, from just before its enqueue to its handler, at 100 jobs a second.
enum Latency {
  static let rate = 100
  static let jobs = 550
  /// The first jobs of a process, which run cold; the same number is left out for Sidekiq.
  static let warmUp = 50

  @Sendable
  static func measure(_ stage: Stage) async throws -> [Figure] {
    var median = Figure("pick-up at 100 jobs/s, broker only, p50", .milliseconds, [.timesSidekiq(1)])
    var tail = Figure("pick-up at 100 jobs/s, broker only, p99", .milliseconds, [.timesSidekiq(1)])
    var durableMedian = Figure("pick-up at 100 jobs/s, durable, p50", .milliseconds)
    var durableTail = Figure("pick-up at 100 jobs/s, durable, p99", .milliseconds, [.atMost(5)])
    var sqlTail = Figure("pick-up of jobs enqueued in SQL at 100/s, p99", .milliseconds, [.atMost(50)])
    let client = JobClient(broker: stage.broker, ledger: InMemoryLedger(), logger: stage.logger)
    let database = try stage.needDatabase()
    let durable = JobClient(
      broker: stage.broker, ledger: PostgresLedger(pool: database.pool), logger: stage.logger)
    for run in 1...stage.runs {
      stage.note("latency, run \(run)")
      try await stage.flush()
      let worker = try await stage.startWorker()
      let waits = try await paced(stage, worker) { try await client.push(Timed(at: SharedClock.now)) }
      try await worker.stop()
      median.samples.append(Figure.percentile(waits, 0.5))
      tail.samples.append(Figure.percentile(waits, 0.99))
      try await stage.flush()
      let keeper = try await stage.startWorker(database: database)
      let pending = try await paced(stage, keeper) { try await durable.enqueue(Timed(at: SharedClock.now)) }
      try await keeper.stop()
      try BenchError.check("jobs still pending", try await database.pendingJobs(), equals: 0)
      durableMedian.samples.append(Figure.percentile(pending, 0.5))
      durableTail.samples.append(Figure.percentile(pending, 0.99))
      try await stage.flush()
      let listener = try await stage.startWorker(database: database)
      let enqueued = try await paced(stage, listener) {
        try await database.pool.execute(
          "SELECT jobs.enqueue('bench.timed', jsonb_build_object('at', \(SharedClock.now)::bigint))")
      }
      try await listener.stop()
      try BenchError.check("jobs still pending", try await database.pendingJobs(), equals: 0)
      sqlTail.samples.append(Figure.percentile(enqueued, 0.99))
      try await stage.flush()
      guard let sidekiq = stage.sidekiq else { continue }
      let theirs = try await paced(stage, sidekiq)
      median.sidekiq.append(Figure.percentile(theirs, 0.5))
      tail.sidekiq.append(Figure.percentile(theirs, 0.99))
      try await stage.flush()
    }
    return [median, tail, durableMedian, durableTail, sqlTail]
  }

  /// Enqueues the jobs at an even pace and returns how long each waited, in milliseconds.
  static func paced(
    _ stage: Stage, _ worker: Child, _ enqueue: @Sendable () async throws -> Void
  ) async throws -> [Double] {
    let start = ContinuousClock.now
    for number in 0..<jobs {
      try await Task.sleep(until: start + .seconds(1) / rate * number, tolerance: .zero)
      try await enqueue()
    }
    try await stage.waitForCount(jobs, by: worker, within: .seconds(10))
    try await stage.waitForEmpty()
    try BenchError.check("jobs picked up", stage.board.counted, equals: jobs)
    return Array(stage.board.samples.dropFirst(warmUp))
  }

  private static func paced(_ stage: Stage, _ sidekiq: Sidekiq) async throws -> [Double] {
    let worker = try await sidekiq.startWorker(total: jobs)
    // Its entry in the process list shows that it serves.
    while try await stage.client.send(RedisCommand("SCARD", "processes")).int ?? 0 == 0 {
      guard worker.isRunning else { throw BenchError("Sidekiq ended at once") }
      try await Task.sleep(for: .milliseconds(20))
    }
    _ = try await sidekiq.enqueue("paced", count: jobs, rate: rate)
    let tally = try await sidekiq.tally(of: worker, total: jobs)
    try await worker.stop()
    return tally.samples.dropFirst(warmUp).map { Double($0) / 1e6 }
  }
}
