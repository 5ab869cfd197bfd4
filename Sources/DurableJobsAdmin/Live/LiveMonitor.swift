import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient

/// Looks at queues, workers and failures in one go, cheaply enough to do it each second.
public struct LiveMonitor: Sendable {
  private let pool: PostgresPool
  private let queues: QueueAdmin
  private let now: @Sendable () -> Date

  /// How many failures are shown at most.
  private static let failures = 50

  public init(pool: PostgresPool, queues: QueueAdmin, now: @escaping @Sendable () -> Date = { JobClock.now }) {
    self.pool = pool
    self.queues = queues
    self.now = now
  }

  /// What there is to see now: a few statements, the same however many jobs wait.
  public func look() async throws -> LiveView {
    let now = now()
    // The minute that is under way, and the one before.
    let since = Date(timeIntervalSince1970: (now.timeIntervalSince1970 / 60).rounded(.down) * 60 - 60)
    async let summaries = queues.list()
    async let workers = WorkerAdmin(pool: pool).list()
    async let failures = failures()
    let rows = try await pool.query(
      """
      SELECT queue, sum(completed)::bigint, (sum(failed) + sum(dead))::bigint, sum(run_ms) FROM job_minutes
      WHERE minute >= \(since) GROUP BY queue
      """
    ).decode(String.self, Int.self, Int.self, Double.self)
    let done = Dictionary(uniqueKeysWithValues: rows.map { ($0.0, (done: $0.1, failed: $0.2, run: $0.3)) })
    let seconds = now.timeIntervalSince(since)
    return LiveView(
      at: now,
      queues: try await summaries.map { queue in
        let counts = done[queue.queue] ?? (0, 0, 0)
        let attempts = counts.done + counts.failed
        return LiveView.Queue(
          queue: queue.queue, isPaused: queue.isPaused, ready: queue.ready, delayed: queue.delayed,
          running: queue.claimed, rate: Double(counts.done) / seconds, failed: counts.failed,
          meanRun: attempts > 0 ? counts.run / Double(attempts) / 1000 : nil, oldestWaiting: queue.oldestWaiting)
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
      failuresPerMinute: Double(done.values.reduce(0) { $0 + $1.failed }) / seconds * 60)
  }

  /// The newest dead letters, and of each queue the newest jobs that are tried again.
  private func failures() async throws -> [LiveView.Failure] {
    let rows = try await pool.query(
      """
      SELECT id, kind, state, at, error FROM (
        (SELECT id, kind, 'dead' AS state, died_at AS at, failures->-1->>'error' AS error FROM dead_jobs
          ORDER BY died_at DESC, id DESC LIMIT \(Self.failures))
        UNION ALL
        SELECT x.* FROM unnest(\(queues.known.map(\.rawValue))) AS queues (name), LATERAL (
          SELECT id, kind, 'retrying', to_timestamp((failures->-1->>'at')::bigint / 1000.0), failures->-1->>'error'
          FROM jobs WHERE queue = name AND failures IS NOT NULL ORDER BY id DESC LIMIT \(Self.failures)
        ) x
      ) failed ORDER BY at DESC LIMIT \(Self.failures)
      """
    ).decode(PostgresUUID.self, String.self, String.self, Date.self, String?.self)
    return rows.map { id, kind, state, at, error in
      LiveView.Failure(
        id: JobID(id).description, kind: kind, state: state == "dead" ? .dead : .retrying, at: at, error: error ?? "")
    }
  }
}
