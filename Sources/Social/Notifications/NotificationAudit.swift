import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Compares every notification, and every notification count, with the likes, comments and follows.
public struct NotificationAudit: Sendable, Hashable {
  /// A notification that differs.
  public struct Row: Sendable, Hashable {
    public let username: String
    public let owner: Int
    public let type: NotificationType
    public let actor: Int
    /// 0 if the type has none.
    public let post: Int
    /// 0 if the type has none.
    public let comment: Int
  }

  /// An owner whose counts differ.
  public struct Count: Sendable, Hashable {
    public let username: String
    public let owner: Int
    /// The stored count, then the actual one.
    public let kept: Int
    public let keptFound: Int
    public let unread: Int
    public let unreadFound: Int
  }

  /// Likes, comments and follows that should have notifications, excluding trimmed ones.
  public let expected: Int
  /// The number of notifications.
  public let found: Int
  /// Missing notifications.
  public let missing: Int
  /// Notifications whose cause does not exist, or happened at another time.
  public let stale: Int
  /// Owners whose counts do not match their notifications.
  public let miscounted: Int
  public let missingRows: [Row]
  public let staleRows: [Row]
  public let miscountedOwners: [Count]
  /// Pending jobs that will write notifications. While any are pending, rows may legitimately differ, but counts may
  /// not.
  public let pending: Int

  public var isExact: Bool { missing == 0 && stale == 0 && miscounted == 0 }

  /// Compares in one snapshot, regardless of concurrent writes.
  ///
  /// - Parameter examples: how many differences of each kind to return.
  public static func run(examples: Int = 20, on database: JobsDatabase) async throws -> NotificationAudit {
    try await database.pool.transaction(.snapshot) { try await run(examples: examples, database.schema, in: $0) }
  }

  private static func run(
    examples: Int, _ schema: JobsSchema, in transaction: PostgresTransaction
  ) async throws -> NotificationAudit {
    try await transaction.pipeline(["SET LOCAL work_mem = '256MB'", "SET LOCAL jit = off"])
    let counts = try await transaction.query(
      """
      SELECT count(*) FILTER (WHERE is_due AND (is_there OR is_missing)), count(*) FILTER (WHERE is_there),
        count(*) FILTER (WHERE is_missing), count(*) FILTER (WHERE is_stale),
        (SELECT count(*) FROM (\(unescaped: miscounted)) x)
      FROM (\(unescaped: compared)) compared
      """, timeout: .seconds(3600))
    let (expected, found, missing, stale, miscount) = try counts[0].decode(
      Int.self, Int.self, Int.self, Int.self, Int.self)
    let pending = try await schema.pendingCount(
      of: [NotificationUpdate.kind, DeletePostReactions.kind], queue: SocialJobs.notificationQueue, in: transaction)
    return NotificationAudit(
      expected: expected, found: found, missing: missing, stale: stale, miscounted: miscount,
      missingRows: missing == 0 ? [] : try await rows("is_missing", examples, in: transaction),
      staleRows: stale == 0 ? [] : try await rows("is_stale", examples, in: transaction),
      miscountedOwners: miscount == 0 ? [] : try await owners(examples, in: transaction), pending: pending)
  }

  /// The notifications that should exist.
  private static let due = """
    SELECT p.author_id AS owner_id, l.post_id, 0::smallint AS type, l.account_id AS actor_id, 0::bigint AS comment_id,
      l.created_at FROM likes l JOIN posts p ON p.id = l.post_id WHERE l.account_id <> p.author_id
    UNION ALL
    SELECT p.author_id, c.post_id, 1::smallint, c.account_id, c.id, c.created_at
      FROM comments c JOIN posts p ON p.id = c.post_id WHERE c.account_id <> p.author_id
    UNION ALL
    SELECT followee_id, 0::bigint, 2::smallint, follower_id, 0::bigint, created_at FROM follows WHERE is_announced
    """

  /// Joins the expected notifications with the actual ones. A follow's notification remains once it is checked.
  private static let compared = """
    SELECT owner_id, type, actor_id, post_id, comment_id, due_at IS NOT NULL AS is_due, told_at IS NOT NULL AS is_there,
      due_at IS NOT NULL AND due_at > coalesce(c.trimmed_until, '-infinity')
        AND (told_at IS NULL OR (told_at <> due_at AND NOT stays)) AS is_missing,
      told_at IS NOT NULL AND NOT stays AND (due_at IS NULL OR told_at <> due_at) AS is_stale
    FROM (
      SELECT owner_id, type, actor_id, post_id, comment_id, due.created_at AS due_at, n.created_at AS told_at,
        n.type = 2 AND (n.checked OR n.id <= had.checked_until) AS stays
      FROM (\(due)) due FULL JOIN notifications n USING (owner_id, post_id, type, actor_id, comment_id)
      LEFT JOIN notification_counts had USING (owner_id)
    ) both_sides LEFT JOIN notification_counts c USING (owner_id)
    """

  private static let miscounted = """
    SELECT owner_id, coalesce(c.kept, 0) AS kept, coalesce(n.kept, 0) AS kept_found, coalesce(c.unread, 0) AS unread,
      coalesce(n.unread, 0) AS unread_found
    FROM notification_counts c FULL JOIN (
      SELECT n.owner_id, count(*) AS kept,
        count(*) FILTER (WHERE NOT n.checked AND n.id > coalesce(had.checked_until, 0)) AS unread
      FROM notifications n LEFT JOIN notification_counts had USING (owner_id) GROUP BY n.owner_id
    ) n USING (owner_id)
    WHERE (coalesce(c.kept, 0), coalesce(c.unread, 0)) <> (coalesce(n.kept, 0), coalesce(n.unread, 0))
    """

  private static func rows(
    _ condition: String, _ examples: Int, in transaction: PostgresTransaction
  ) async throws -> [Row] {
    try await transaction.query(
      """
      SELECT a.username, owner_id, type, actor_id, post_id, comment_id
      FROM (\(unescaped: compared)) compared LEFT JOIN accounts a ON a.id = owner_id
      WHERE \(unescaped: condition) LIMIT \(examples)
      """, timeout: .seconds(3600)
    ).decode(String?.self, Int.self, Int16.self, Int.self, Int.self, Int.self).map { row in
      Row(
        username: row.0 ?? "(no account \(row.1))", owner: row.1, type: NotificationType(rawValue: row.2), actor: row.3,
        post: row.4, comment: row.5)
    }
  }

  private static func owners(_ examples: Int, in transaction: PostgresTransaction) async throws -> [Count] {
    try await transaction.query(
      """
      SELECT a.username, x.* FROM (\(unescaped: miscounted)) x LEFT JOIN accounts a ON a.id = owner_id LIMIT \(examples)
      """, timeout: .seconds(3600)
    ).decode(String?.self, Int.self, Int.self, Int.self, Int.self, Int.self).map { row in
      Count(
        username: row.0 ?? "(no account \(row.1))", owner: row.1, kept: row.2, keptFound: row.3, unread: row.4,
        unreadFound: row.5)
    }
  }
}
