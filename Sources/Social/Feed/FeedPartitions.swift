import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Creates the feed's partitions ahead of time, and raises the floor below which feeds hold no rows.
public struct FeedPartitions: Job {
  public static let kind: JobKind = "feed.partitions"

  /// How many days of posts feeds hold; nil keeps all.
  public var keepDays: Int?

  public init(keepDays: Int? = nil) { self.keepDays = keepDays }

  /// Enqueues a `FeedPartitionTrim` if partitions lie below the floor.
  func run(in transaction: AppTransaction) async throws {
    guard let keepDays else {
      try await transaction.sql.execute("SELECT ensure_feed_partitions()")
      return
    }
    let isMore = try await transaction.sql.query("SELECT raise_feed_floor(\(Int32(clamping: keepDays)))")[0]
      .decode(Bool.self)
    try await transaction.sql.execute(
      "DELETE FROM pulled_authors WHERE last_post < (SELECT post_id FROM feed_floor)")
    if isMore { try await transaction.enqueue(FeedPartitionTrim()) }
  }
}
