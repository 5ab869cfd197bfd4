import Jobs
import JobsPostgres
import Postgres

/// Makes the feed's partitions ahead of time and drops the oldest.
public struct FeedPartitions: Job {
  public static let kind: JobKind = "feed.partitions"

  /// How many days of posts feeds hold; nil drops nothing.
  public var keepDays: Int?

  public init(keepDays: Int? = nil) { self.keepDays = keepDays }

  static func run(_ job: FeedPartitions, _ context: JobContext<PostgresLedger>) async throws {
    try await context.transaction { _ = try await job.run(in: $0.sql) }
  }

  /// - Returns: how many partitions were made and how many were dropped.
  /// - Throws: `PostgresError` with SQLSTATE 55P03 if the feeds were too busy to drop a partition: try again later.
  @discardableResult
  public func run(in transaction: PostgresTransaction) async throws -> (made: Int, dropped: Int) {
    // Dropping waits for whoever uses the feeds, and everybody else waits behind it: not for long.
    try await transaction.execute("SET LOCAL lock_timeout = '2s'")
    let made = try await transaction.query("SELECT ensure_feed_partitions()")[0].decode(Int.self)
    guard let keepDays else { return (made, 0) }
    let dropped = try await transaction.query("SELECT trim_feed_partitions(\(Int32(clamping: keepDays)))")[0]
      .decode(Int.self)
    return (made, dropped)
  }
}
