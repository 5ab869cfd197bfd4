import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Creates and ends follows, together with the feed rows and notifications that result from them.
///
/// `migrations/0006_fan_outs.sql` describes the locks, and why no interleaving with posts, deletions and fan-outs
/// leaves a feed with a row too many or too few. `migrations/0010_notifications.sql` describes the order of
/// notifications.
public enum Follows {
  /// The subject of a follow's events, an expression.
  private static let subject = "'follow/' || follower_id || '/' || followee_id"

  /// Makes `follower` follow `followee`, adds the followee's posts to the follower's feed, and enqueues the
  /// notification of the followee.
  ///
  /// - Returns: whether the follow is new; an existing one is unchanged.
  /// - Throws: `cannot_follow_yourself`.
  @discardableResult
  public static func follow(_ followee: Int, by follower: Int, in transaction: AppTransaction) async throws -> Bool {
    guard followee != follower else {
      throw SocialError(.cannotFollowYourself, "an account cannot follow itself")
    }
    let answers = try await transaction.sql.pipeline([
      "SELECT pg_advisory_xact_lock_shared(posts_lock(\(followee)))",
      """
      WITH added AS (
        INSERT INTO follows (follower_id, followee_id, is_announced)
        SELECT f.id, a.id, true FROM accounts f, accounts a
        WHERE f.id = \(follower) AND a.id = \(followee) AND \(Visibility.isVisible("a.id", to: follower))
        ON CONFLICT DO NOTHING RETURNING follower_id, followee_id
      ), \(WebhookEvents.hooked(
        .followCreated, about: Self.subject,
        "jsonb_build_object('follow', jsonb_build_object('follower', webhook_account(follower_id), "
          + "'followee', webhook_account(followee_id)))",
        account: "follower_id", other: "followee_id", from: "added"))
      SELECT \(WebhookEvents.isHooked) FROM added
      """,
    ])
    guard let isHooked = try answers[1].decode(Bool.self).first else { return false }
    try await WebhookEvents.dispatch(isHooked, in: transaction)
    try await NotificationUpdate(followOf: followee, by: follower).enqueue(in: transaction)
    let page = try await FeedBackfill.addPage(
      of: followee, to: follower, before: .max, limit: FeedSizes.current.followAtOnce, in: transaction.sql)
    if let next = page.next {
      try await transaction.enqueue(FeedBackfill(follower: follower, followee: followee, before: next))
    }
    return true
  }

  /// Ends a follow, removes the followee's posts from the follower's feed, and enqueues the removal of the notification
  /// if the followee has not checked it.
  ///
  /// - Returns: whether there was a follow.
  @discardableResult
  public static func unfollow(
    _ followee: Int, by follower: Int, in transaction: AppTransaction
  ) async throws -> Bool {
    let answers = try await transaction.sql.pipeline([
      "SELECT pg_advisory_xact_lock(feed_lock(\(followee), \(follower)))",
      """
      WITH gone AS (
        DELETE FROM follows WHERE followee_id = \(followee) AND follower_id = \(follower)
        RETURNING follower_id, followee_id
      ), \(WebhookEvents.hooked(
        .followDeleted, about: Self.subject,
        "jsonb_build_object('follow', jsonb_build_object('follower', \(WebhookEvents.bare("follower_id")), "
          + "'followee', \(WebhookEvents.bare("followee_id"))))",
        from: "gone"))
      SELECT \(WebhookEvents.isHooked) FROM gone
      """,
    ])
    // If this call ended no follow, the rows may already belong to a new one.
    guard let isHooked = try answers[1].decode(Bool.self).first else { return false }
    try await WebhookEvents.dispatch(isHooked, in: transaction)
    // A separate statement: only a new snapshot shows the rows of a backfill that held the follow until now.
    try await transaction.sql.execute(
      """
      DELETE FROM following_user_posts f USING (
        SELECT id FROM posts WHERE author_id = \(followee)
        UNION ALL
        SELECT id FROM deleted_posts WHERE author_id = \(followee)
      ) p WHERE f.user_id = \(follower) AND f.post_id = p.id
      """)
    try await NotificationUpdate(followOf: followee, by: follower).enqueue(in: transaction)
    return true
  }
}
