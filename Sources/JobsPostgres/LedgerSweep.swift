import Jobs
import Postgres

/// Forgets what nobody looks at any more, a batch a job: records of ended jobs after some days, minutes after two and hours after
/// eight, workers that went without a word after nine, and orders to end jobs that nobody ran.
public struct LedgerSweep: Job {
  public static let kind: JobKind = "ledger.sweep"
  static let batch = 2000

  /// How long records of ended jobs are kept.
  public var endedDays: Int

  public init(endedDays: Int) { self.endedDays = endedDays }

  /// The handler to register it with. It asks for itself again while there is more to forget.
  @Sendable
  public static func run(_ job: LedgerSweep, _ context: JobContext<PostgresLedger>) async throws {
    try await context.transaction { transaction in
      let swept = try await transaction.sql.pipeline([
        """
        DELETE FROM ended_jobs WHERE id IN (
          SELECT id FROM ended_jobs WHERE ended_at < now() - make_interval(days => \(Int32(clamping: job.endedDays)))
          ORDER BY ended_at LIMIT \(batch))
        """,
        """
        DELETE FROM job_minutes WHERE (minute, queue, kind) IN (
          SELECT minute, queue, kind FROM job_minutes WHERE minute < now() - interval '2 days'
          ORDER BY minute LIMIT \(batch))
        """,
        """
        DELETE FROM job_hours WHERE (hour, queue, kind) IN (
          SELECT hour, queue, kind FROM job_hours WHERE hour < now() - interval '8 days' ORDER BY hour LIMIT \(batch))
        """,
        // A row with a count in it outlives what the count may have been added to: then a batch of minutes that is told again so
        // late is swept with the rest, and counts nowhere twice.
        """
        DELETE FROM workers
        WHERE seen_at < now() - interval '1 hour' AND counted = 0 OR seen_at < now() - interval '9 days'
        """,
        "DELETE FROM job_cancellations WHERE asked_at < now() - interval '1 hour'",
      ])
      if swept.contains(where: { $0.affected >= batch }) { try await transaction.enqueue(job) }
    }
  }
}
