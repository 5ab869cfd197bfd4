import DurableJobs
import DurableJobsRedis
import DurableJobsTesting
import HiredisClient

/// Jobs that only the broker knows, enqueued one by one by many tasks, and in bulk.
enum Enqueue {
  /// The size of a no-op job in Redis, so that plain C writes as many bytes.
  static let recordSize = 55
  private static let tasks = 64
  private static let singles = 3_200
  private static let bulk = 500_000
  private static let sidekiqSingles = 10_000
  private static let sidekiqBulk = 100_000

  @Sendable
  static func measure(_ stage: Stage) async throws -> [Figure] {
    var one = Figure("enqueued one by one from 64 tasks, broker only", .perSecond, [.atLeast(100_000)])
    var many = Figure("enqueued in bulk, broker only", .perSecond, [.atLeast(300_000)])
    let client = JobClient(broker: stage.broker, ledger: InMemoryLedger(), logger: stage.logger)
    for run in 1...stage.runs {
      stage.note("enqueue, run \(run)")
      try await stage.flush()
      one.samples.append(
        try await rate(tasks * singles, stage) {
          try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<tasks {
              group.addTask { for number in 0..<singles { try await client.push(NoOp(number: number)) } }
            }
            try await group.waitForAll()
          }
        })
      try await stage.flush()
      let jobs = (0..<bulk).map { NoOp(number: $0) }
      many.samples.append(try await rate(bulk, stage) { try await client.push(jobs) })
      try await stage.flush()
      let raw = try Raw.add(stage.redisSocket, stream: "raw", recordSize: recordSize, count: bulk)
      one.raw.append(raw)
      many.raw.append(raw)
      try await stage.flush()
      guard let sidekiq = stage.sidekiq else { continue }
      one.sidekiq.append(try await sidekiq.enqueue("single", count: sidekiqSingles))
      many.sidekiq.append(try await sidekiq.enqueue("bulk", count: sidekiqBulk))
      let there = try await stage.client.send(RedisCommand("LLEN", "queue:default")).int ?? -1
      try BenchError.check("jobs enqueued by Sidekiq", there, equals: sidekiqSingles + sidekiqBulk)
      try await stage.flush()
    }
    return [one, many]
  }

  private static func rate(_ count: Int, _ stage: Stage, _ body: () async throws -> Void) async throws -> Double {
    let start = ContinuousClock.now
    try await body()
    let seconds = start.duration(to: .now) / .seconds(1)
    try BenchError.check("jobs enqueued", try await stage.broker.depth(of: .default).ready, equals: count)
    return Double(count) / seconds
  }
}
