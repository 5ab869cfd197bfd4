import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import Locking
import Logging

/// The results of a small load test.
public struct QueueBenchReport: Codable, Sendable, Hashable {
  /// The private queue that the test used.
  public let queue: String
  public let jobs: Int
  /// Handlers that ran at once in this process.
  public let concurrency: Int
  /// Enqueued jobs a second, in one transaction each, by 16 concurrent callers.
  public let enqueuedSingly: Double
  /// Enqueued and pushed jobs a second, in batches of a thousand.
  public let enqueuedInBatches: Double
  /// Jobs a second, from the claim to the end of the ledger row.
  public let drained: Double
  /// The median time from enqueuing a job to the start of its handler on an idle queue, in seconds.
  public let pickup: Double
  /// The 99th percentile of the same.
  public let slowPickup: Double
}

/// Measures the job queue on the configured servers, with no-op jobs in a private queue.
///
/// Call `cleanUp` after `run`, also if it throws: it removes everything left of the queue.
public struct QueueBench: Sendable {
  /// A job that does nothing.
  private struct NoOp: Job {
    static let kind: JobKind = "bench.no-op"
    var number: Int
  }

  /// The phase of the test.
  public enum Progress: Sendable {
    case enqueuing(Int)
    case draining(Int)
    case pickingUp(Int)
  }

  public let queue: QueueName
  private let database: JobsDatabase
  private let broker: RedisBroker
  private let jobs: Int
  private let concurrency: Int
  private let logger: Logger

  private static let callers = 16
  private static let batch = 1000
  private static let pickups = 200

  /// - Parameters:
  ///   - jobs: how many jobs to run; half of them, up to 10,000, are enqueued singly.
  ///   - concurrency: how many handlers run at once.
  public init(_ database: JobsDatabase, broker: RedisBroker, jobs: Int, concurrency: Int, logger: Logger) {
    self.database = database
    self.broker = broker
    self.jobs = jobs
    self.concurrency = concurrency
    self.logger = logger
    queue = QueueName(rawValue: "bench-\(JobID.next())")
  }

  /// Runs the whole test in its private queue, which is empty again at the end.
  public func run(progress: @escaping @Sendable (Progress) -> Void = { _ in }) async throws -> QueueBenchReport {
    let client = JobClient(broker: broker, ledger: PostgresLedger(database), logger: logger)
    let singly = min(jobs / 2, 10_000)
    let singleTime = try await ContinuousClock().measure {
      try await enqueueSingly(singly, client) { progress(.enqueuing($0)) }
    }
    let batchTime = try await ContinuousClock().measure {
      for start in stride(from: singly, to: jobs, by: Self.batch) {
        let numbers = start..<min(start + Self.batch, jobs)
        try await client.enqueue(numbers.map { NoOp(number: $0) }, options: options)
        progress(.enqueuing(numbers.upperBound))
      }
    }
    let ran = Locked(0)
    let (starts, start) = AsyncStream.makeStream(of: ContinuousClock.Instant.self)
    var registry = JobRegistry<PostgresLedger>()
    registry.register(NoOp.self) { job, _ in
      let now = ContinuousClock.now
      ran.withLock { $0 += 1 }
      if job.number < 0 { start.yield(now) }
    }
    let worker = Worker(
      broker: broker, ledger: PostgresLedger(database), registry: registry,
      configuration: WorkerConfiguration(queues: [queue: concurrency], name: "bench-\(getpid())"), logger: logger)
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await worker.run() }
      defer { group.cancelAll() }
      let drainTime = try await ContinuousClock().measure {
        while true {
          let done = ran.withLock { $0 }
          if done >= jobs, try await !database.isPending(in: queue) { return }
          progress(.draining(done))
          try await Task.sleep(for: .milliseconds(10))
        }
      }
      var waits: [Double] = []
      var begun = starts.makeAsyncIterator()
      for index in 0..<Self.pickups {
        progress(.pickingUp(index))
        let asked = ContinuousClock.now
        try await client.enqueue(NoOp(number: -1), options: options)
        guard let started = await begun.next() else { throw CancellationError() }
        waits.append((started - asked) / .seconds(1))
      }
      waits.sort()
      return QueueBenchReport(
        queue: queue.rawValue, jobs: jobs, concurrency: concurrency,
        enqueuedSingly: Double(singly) / (singleTime / .seconds(1)),
        enqueuedInBatches: Double(jobs - singly) / (batchTime / .seconds(1)),
        drained: Double(jobs) / (drainTime / .seconds(1)),
        pickup: waits[waits.count / 2], slowPickup: waits[waits.count * 99 / 100])
    }
  }

  /// Removes the queue's jobs, dead letters, statistics and broker keys.
  public func cleanUp() async throws {
    try await database.deleteQueue(queue)
    try await broker.forget(queue)
  }

  private var options: JobOptions { JobOptions(queue: queue) }

  private func enqueueSingly(
    _ count: Int, _ client: JobClient<RedisBroker, PostgresLedger>, progress: @escaping @Sendable (Int) -> Void
  ) async throws {
    let next = Locked(0)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<Self.callers {
        group.addTask {
          while true {
            let number = next.withLock { number in
              defer { number += 1 }
              return number
            }
            if number >= count { return }
            try await client.enqueue(NoOp(number: number), options: options)
            progress(number)
          }
        }
      }
      try await group.waitForAll()
    }
  }
}
