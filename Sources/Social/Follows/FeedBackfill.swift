import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Adds a followee's older posts to a new follower's feed, one page per job.
public struct FeedBackfill: Job {
  public static let kind: JobKind = "feed.backfill"
  public static let queue = SocialJobs.bulkQueue

  public var follower: Int
  public var followee: Int
  /// Posts with ids below this are still to be added.
  public var before: Int

  public init(follower: Int, followee: Int, before: Int) {
    self.follower = follower
    self.followee = followee
    self.before = before
  }

  /// Adds the next page and enqueues the one after it, unless the follow has ended.
  func run(in transaction: AppTransaction) async throws {
    let follow = try await transaction.sql.pipeline([
      "SELECT pg_advisory_xact_lock_shared(posts_lock(\(followee)))",
      // An unfollow waits for this row, and then removes the rows added here.
      """
      SELECT 1 FROM follows WHERE followee_id = \(followee) AND follower_id = \(follower) FOR KEY SHARE
      """,
    ])[1]
    if follow.isEmpty { return }
    let page = try await Self.addPage(
      of: followee, to: follower, before: before, limit: FeedSizes.current.backfillPage, in: transaction.sql)
    if let next = page.next {
      try await transaction.enqueue(FeedBackfill(follower: follower, followee: followee, before: next))
    }
  }

  /// Adds the latest `limit` posts before `before`, as far back as feeds reach. The caller must hold the followee's
  /// posts lock.
  ///
  /// - Returns: `next`, the cursor to continue from, if there may be more.
  static func addPage(
    of followee: Int, to follower: Int, before: Int, limit: Int, in transaction: PostgresTransaction
  ) async throws -> (count: Int, next: Int?) {
    let rows = try await transaction.query(
      """
      WITH latest AS MATERIALIZED (
        SELECT id FROM posts
        WHERE author_id = \(followee) AND id < \(before) AND id >= (SELECT post_id FROM feed_floor) AND NOT is_pulled
        ORDER BY id DESC LIMIT \(limit)
      ), added AS (
        INSERT INTO following_user_posts (user_id, post_id) SELECT \(follower), id FROM latest ORDER BY id
        ON CONFLICT DO NOTHING
      )
      SELECT count(*), min(id) FROM latest
      """)
    let (count, oldest) = try rows[0].decode(Int.self, Int?.self)
    return (count, count == limit ? oldest : nil)
  }
}
