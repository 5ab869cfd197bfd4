import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Detaches the oldest partition below the feeds' floor, drops detached partitions, and enqueues itself until none is
/// left.
///
/// Detaching locks the whole feed table, and every user of the feeds queues behind a waiter. So it waits only briefly
/// for the lock, and retries a little later (`migrations/0033_trim_feeds.sql`).
public struct FeedPartitionTrim: Job {
  public static let kind: JobKind = "feed.trim"

  /// How long it waits for the lock, and so the longest that it makes others wait. Requests hold the lock for a few
  /// milliseconds.
  static let patience = "40ms"
  private static let tries = 40

  public init() {}

  /// - Throws: `PostgresError` with SQLSTATE 55P03 if every attempt timed out: the job is retried later.
  static func run(_ job: FeedPartitionTrim, _ context: JobContext<PostgresLedger>) async throws {
    for attempt in 1... {
      do {
        return try await context.transaction { try await job.run(in: $0) }
      } catch let error as PostgresError where error.sqlState == "55P03" && attempt < tries {
        // A random pause avoids staying in step with periodic work.
        try await Task.sleep(for: .milliseconds(Int.random(in: 50...250)))
      }
    }
  }

  func run(in transaction: AppTransaction) async throws {
    try await transaction.sql.execute("SELECT set_config('lock_timeout', \(Self.patience), true)")
    // Dropping a detached partition needs no lock on the feeds, but must not share a transaction with one that has it.
    if try await transaction.sql.query("SELECT drop_feed_leftover()")[0].decode(Bool.self) {
      try await transaction.enqueue(FeedPartitionTrim())
    } else if try await transaction.sql.query("SELECT detach_feed_partition()")[0].decode(Bool.self) {
      try await transaction.enqueue(FeedPartitionTrim())
    }
  }
}
