import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Readers whose feeds are no longer maintained, because they have not read them for a long time.
///
/// Fan-outs skip them. When one returns, its feed is computed from follows and posts on each read until a refill has
/// rebuilt it (`migrations/0052_pulled_posts.sql`).
public enum FeedSleepers {
  /// Records that an account reads its feed, once a day.
  public static func note(_ account: Int, on pool: PostgresPool) async throws {
    try await pool.execute(
      """
      INSERT INTO feed_readers (account_id, read_on) SELECT id, current_date FROM accounts
      WHERE id = \(account)
        AND NOT EXISTS (SELECT FROM feed_readers WHERE account_id = \(account) AND read_on >= current_date)
      ON CONFLICT (account_id) DO UPDATE SET read_on = excluded.read_on
      """)
  }

  /// Enqueues the refill of a sleeping reader's feed; idempotent.
  public static func wake(_ account: Int, in transaction: AppTransaction) async throws {
    let woken = try await transaction.sql.execute(
      "UPDATE feed_sleepers SET is_waking = true WHERE account_id = \(account) AND NOT is_waking")
    if woken > 0 { try await transaction.enqueue(FeedRefill(account: account, after: 0)) }
  }
}

/// Rebuilds the feed of a waking reader. Each job adds the posts of some followees, in id order; the last job completes
/// the feed.
public struct FeedRefill: Job {
  public static let kind: JobKind = "feed.refill"
  public static let queue = SocialJobs.bulkQueue

  public var account: Int
  /// The last followee whose posts were added.
  public var after: Int

  func run(in transaction: AppTransaction) async throws {
    let sql = transaction.sql
    // An earlier run may have finished the refill, and the account may have fallen asleep again since.
    let found = try await sql.query(
      """
      SELECT 1 FROM feed_sleepers JOIN accounts ON id = account_id WHERE account_id = \(account) AND is_waking
      FOR UPDATE OF feed_sleepers
      """)
    if found.isEmpty { return }
    let followees = try await sql.query(
      """
      SELECT followee_id FROM follows WHERE follower_id = \(account) AND followee_id > \(after)
      ORDER BY followee_id LIMIT \(FeedSizes.current.refillFollowees)
      """
    ).decode(Int.self)
    guard let last = followees.last else {
      try await sql.execute("DELETE FROM feed_sleepers WHERE account_id = \(account)")
      return
    }
    // As in a rebuild, an unfollow waits, and the purge of a post deleted meanwhile removes its rows.
    try await sql.pipeline([
      "SELECT pg_advisory_xact_lock_shared(posts_lock(id)) FROM unnest(\(followees)) id",
      "SELECT pg_advisory_xact_lock_shared(feed_lock(id, \(account))) FROM unnest(\(followees)) id",
      """
      INSERT INTO following_user_posts (user_id, post_id)
      SELECT \(account), p.id FROM follows JOIN posts p ON p.author_id = followee_id
      WHERE follower_id = \(account) AND followee_id = ANY (\(followees))
        AND p.id >= (SELECT post_id FROM feed_floor) AND NOT p.is_pulled
      ORDER BY p.id
      ON CONFLICT DO NOTHING
      """,
    ])
    try await transaction.enqueue(FeedRefill(account: account, after: last))
  }
}

/// Puts readers to sleep that have not read their feeds for some days.
public struct FeedSleep: Job {
  public static let kind: JobKind = "feed.sleep"
  public static let queue = SocialJobs.bulkQueue

  /// 0 turns sleeping off.
  public var days: Int

  public init(days: Int) { self.days = days }

  func run(in transaction: AppTransaction) async throws {
    let sql = transaction.sql
    guard days > 0 else {
      try await sql.execute("DELETE FROM feed_sleep")
      return
    }
    // Reads before `noted_since` were not recorded, so no reader falls asleep until that many days after it.
    try await sql.pipeline([
      "INSERT INTO feed_sleep (noted_since) VALUES (current_date) ON CONFLICT DO NOTHING",
      """
      INSERT INTO feed_sleepers (account_id)
      SELECT a.id FROM accounts a LEFT JOIN feed_readers r ON r.account_id = a.id
      WHERE coalesce(r.read_on, a.created_at::date) <= current_date - \(Int32(clamping: days))
        AND (SELECT noted_since FROM feed_sleep) <= current_date - \(Int32(clamping: days))
      ORDER BY a.id
      ON CONFLICT DO NOTHING
      """,
    ])
  }
}
