import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Detaches the oldest partition below the feeds' floor, drops what is detached, and asks for itself until none is
/// left.
///
/// To detach takes the whole feed's lock. All who use the feeds queue behind a waiter, so it waits for a moment only,
/// and tries again a little later (`migrations/0033_trim_feeds.sql`).
public struct FeedPartitionTrim: Job {
  public static let kind: JobKind = "feed.trim"

  /// How long it waits for the lock, so long others wait for it. Requests hold it for a few milliseconds.
  static let patience = "40ms"
  private static let tries = 40

  public init() {}

  /// - Throws: `PostgresError` with SQLSTATE 55P03 if the feeds were too busy all the while: the job is retried later.
  static func run(_ job: FeedPartitionTrim, _ context: JobContext<PostgresLedger>) async throws {
    for attempt in 1... {
      do {
        return try await context.transaction { try await job.run(in: $0) }
      } catch let error as PostgresError where error.sqlState == "55P03" && attempt < tries {
        // Not in step with anything that comes at even intervals.
        try await Task.sleep(for: .milliseconds(Int.random(in: 50...250)))
      }
    }
  }

  func run(in transaction: AppTransaction) async throws {
    try await transaction.sql.execute("SELECT set_config('lock_timeout', \(Self.patience), true)")
    // What is detached needs no lock on the feeds to go, but must not go in the transaction that has one.
    if try await transaction.sql.query("SELECT drop_feed_leftover()")[0].decode(Bool.self) {
      try await transaction.enqueue(FeedPartitionTrim())
    } else if try await transaction.sql.query("SELECT detach_feed_partition()")[0].decode(Bool.self) {
      try await transaction.enqueue(FeedPartitionTrim())
    }
  }
}
