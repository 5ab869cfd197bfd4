import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Makes and ends follows, together with the feed rows and the notifications that follow from them.
///
/// The locks, and why no interleaving with posts, deletions and fan-outs leaves a feed with a row too many or too few,
/// are described in `migrations/0006_fan_outs.sql`; what orders notifications, in `migrations/0010_notifications.sql`.
public enum Follows {
  /// Makes `follower` follow `followee` and puts the followee's posts into the follower's feed, and owes telling
  /// the followee.
  ///
  /// - Returns: whether it is new; an old follow is left as it is.
  /// - Throws: `cannot_follow_yourself`.
  @discardableResult
  public static func follow(_ followee: Int, by follower: Int, in transaction: AppTransaction) async throws -> Bool {
    guard followee != follower else {
      throw SocialError(.cannotFollowYourself, "an account cannot follow itself")
    }
    let answers = try await transaction.sql.pipeline([
      "SELECT pg_advisory_xact_lock_shared(posts_lock(\(followee)))",
      """
      INSERT INTO follows (follower_id, followee_id, is_announced)
      SELECT f.id, a.id, true FROM accounts f, accounts a
      WHERE f.id = \(follower) AND a.id = \(followee) AND \(Visibility.isVisible("a.id", to: follower))
      ON CONFLICT DO NOTHING
      """,
    ])
    guard answers[1].affected == 1 else { return false }
    try await NotificationUpdate(followOf: followee, by: follower).owe(in: transaction)
    let page = try await FeedBackfill.addPage(
      of: followee, to: follower, before: .max, limit: FeedSizes.current.followAtOnce, in: transaction.sql)
    if let next = page.next {
      try await transaction.enqueue(FeedBackfill(follower: follower, followee: followee, before: next))
    }
    return true
  }

  /// Ends a follow and takes the followee's posts out of the follower's feed, and owes taking back what the followee
  /// was told and has not checked.
  ///
  /// - Returns: whether there was one.
  @discardableResult
  public static func unfollow(
    _ followee: Int, by follower: Int, in transaction: AppTransaction
  ) async throws -> Bool {
    let answers = try await transaction.sql.pipeline([
      "SELECT pg_advisory_xact_lock(feed_lock(\(followee), \(follower)))",
      "DELETE FROM follows WHERE followee_id = \(followee) AND follower_id = \(follower)",
    ])
    // Without a follow of its own to end, the rows may already be those of a follow that has just begun.
    guard answers[1].affected == 1 else { return false }
    // A statement of its own: a backfill that held the follow until now has rows that only a new snapshot shows.
    try await transaction.sql.execute(
      """
      DELETE FROM following_user_posts f USING (
        SELECT id FROM posts WHERE author_id = \(followee)
        UNION ALL
        SELECT id FROM deleted_posts WHERE author_id = \(followee)
      ) p WHERE f.user_id = \(follower) AND f.post_id = p.id
      """)
    try await NotificationUpdate(followOf: followee, by: follower).owe(in: transaction)
    return true
  }
}
