import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation

/// Reads queues, workers and failures at once, cheaply enough to run every second.
public struct LiveMonitor: Sendable {
  private let queues: QueueAdmin
  private let now: @Sendable () -> Date

  /// The most failures shown.
  private static let failures = 50

  public init(_ queues: QueueAdmin, now: @escaping @Sendable () -> Date = { JobClock.now }) {
    self.queues = queues
    self.now = now
  }

  /// The current view, in a few statements, the same number however many jobs wait.
  public func view() async throws -> LiveView {
    let now = now()
    // The current minute and the one before.
    let since = Date(timeIntervalSince1970: (now.timeIntervalSince1970 / 60).rounded(.down) * 60 - 60)
    async let summaries = queues.list()
    async let workers = WorkerAdmin(queues.database).list()
    async let failures = failures()
    let counted = try await queues.database.countsByQueue(.minutes, since: since)
    let seconds = now.timeIntervalSince(since)
    return LiveView(
      at: now,
      queues: try await summaries.map { queue in
        let counts = counted[queue.queue] ?? JobCounts()
        return LiveView.Queue(
          numbers: queue.numbers, rate: Double(counts.completed) / seconds, failed: counts.failed + counts.dead,
          meanRun: StatisticsTotals(counts).meanRun)
      },
      workers: try await workers.map { worker in
        LiveView.Worker(
          name: worker.name, state: worker.state.rawValue, since: max(0, now.timeIntervalSince(worker.startedAt)),
          running: worker.running.map { job in
            LiveView.Worker.Job(
              id: job.id, kind: job.kind, attempt: job.attempt, since: max(0, now.timeIntervalSince(job.since)))
          })
      },
      failures: try await failures,
      failuresPerMinute: Double(counted.values.reduce(0) { $0 + $1.failed + $1.dead }) / seconds * 60)
  }

  /// The newest dead letters, and the newest retrying jobs of each queue.
  private func failures() async throws -> [LiveView.Failure] {
    try await queues.database.failedJobs(of: queues.known, limit: Self.failures).map { job in
      LiveView.Failure(
        id: job.id.description, kind: job.kind.rawValue, state: job.isDead ? .dead : .retrying, at: job.at,
        error: job.error ?? "")
    }
  }
}
