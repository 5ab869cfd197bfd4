import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Reads and checks an account's notifications.
public enum Notifications {
  /// How many actors of a group are named.
  public static let actorsShown = 3
  /// How many characters of a comment its notification shows.
  public static let textShown = 200

  /// A page of an owner's notifications, newest first.
  ///
  /// The cursor is an item's id. A group is placed by its newest notification. If it grows while pages are read, a
  /// reader that starts over finds it at the top, and one that continues does not see it twice.
  ///
  /// - Parameter isGrouped: whether the likes of one post in one window (a day, in UTC) are one item.
  public static func list(
    of owner: Int, grouped isGrouped: Bool = true, _ page: PageRequest, in reader: some SocialReader
  ) async throws -> Page<NotificationItem> {
    // A group's id is odd, and its newest notification's even id is just below it. Later items are below both.
    let start = page.cursor & ~1
    let list =
      if isGrouped {
        Page(
          try await reader.rows(groups(owner, start, page.limit + 1)).map { try NotificationRow($0, isGrouped: true) },
          limit: page.limit, cursor: \.id)
      } else {
        try await Page.filled(from: start, limit: page.limit) { cursor, count in
          try await reader.rows(single(owner, cursor, count)).map { row in
            (
              try Int(postgres: row[0]),
              try Bool(postgres: row[row.count - 1]) ? try NotificationRow(row, isGrouped: false) : nil
            )
          }
        }
      }
    let actors = try await AccountSummary.all(Set(list.items.flatMap(\.actors)), in: reader)
    return list.map { NotificationItem($0, actors: actors) }
  }

  private static func single(_ owner: Int, _ cursor: Int, _ limit: Int) -> PostgresQuery {
    """
    SELECT n.id, n.type, n.checked OR n.id <= \(unescaped: checkedUntil), n.created_at, ARRAY[n.actor_id],
      n.post_id, n.comment_id, 1::bigint, \(unescaped: isFollowed("n.actor_id")), \(unescaped: subject), \(isShown(to: owner))
    FROM (
      SELECT * FROM notifications WHERE owner_id = \(owner) AND id < \(cursor) ORDER BY id DESC LIMIT \(limit)
    ) n
    LEFT JOIN posts p ON p.id = n.post_id
    LEFT JOIN comments c ON n.type = 1 AND c.post_id = n.post_id AND c.id = n.comment_id
    ORDER BY n.id DESC
    """
  }

  /// An owner has at most a few thousand notifications, which are read whole, so no second table of groups has to be
  /// kept consistent.
  private static func groups(_ owner: Int, _ cursor: Int, _ limit: Int) -> PostgresQuery {
    """
    SELECT n.id, n.type, coalesce(n.unchecked <= \(unescaped: checkedUntil), true), n.created_at, n.actors,
      n.post_id, n.comment_id, n.count, \(unescaped: isFollowed("n.actors[1]")), \(unescaped: subject)
    FROM (
      SELECT owner_id, max(id) AS id, type, post_id, max(comment_id) AS comment_id, count(*) AS count,
        max(created_at) AS created_at, max(id) FILTER (WHERE NOT checked) AS unchecked,
        (array_agg(actor_id ORDER BY id DESC))[1:\(unescaped: String(actorsShown))] AS actors
      FROM notifications n WHERE owner_id = \(owner) AND \(isShown(to: owner))
      GROUP BY owner_id, type, post_id, CASE WHEN type = 0 THEN notification_window(created_at) ELSE id END
      HAVING max(id) < \(cursor)
      ORDER BY max(id) DESC LIMIT \(limit)
    ) n
    LEFT JOIN posts p ON p.id = n.post_id
    LEFT JOIN comments c ON n.type = 1 AND c.post_id = n.post_id AND c.id = n.comment_id
    ORDER BY n.id DESC
    """
  }

  /// The post's title and first picture, and the beginning of the comment.
  private static let subject = "p.title, p.media[1], left(c.text, \(textShown))"

  /// Whether an owner is shown a notification `n`: its actor is neither hidden, blocked nor muted, and its subject is
  /// not taken down.
  static func isShown(to owner: Int) -> PostgresQuery { isShown(to: "\(owner)") }

  /// - Parameter owner: a column or a parameter.
  static func isShown(to owner: PostgresQuery) -> PostgresQuery {
    """
    (NOT EXISTS (SELECT FROM hidden_accounts h WHERE h.account_id = n.actor_id)
      AND NOT EXISTS (SELECT FROM restrictions r WHERE r.account_id = \(owner) AND r.other_id = n.actor_id)
      AND NOT EXISTS (SELECT FROM posts t WHERE t.id = n.post_id AND t.taken_down_at IS NOT NULL)
      AND NOT (n.type = 1 AND EXISTS (SELECT FROM comments t
        WHERE t.post_id = n.post_id AND t.id = n.comment_id AND t.taken_down_at IS NOT NULL)))
    """
  }

  private static let checkedUntil = """
    (SELECT c.checked_until FROM notification_counts c WHERE c.owner_id = n.owner_id)
    """

  private static func isFollowed(_ actor: String) -> String {
    """
    CASE WHEN n.type = 2 THEN
      EXISTS (SELECT FROM follows f WHERE f.followee_id = \(actor) AND f.follower_id = n.owner_id OFFSET 0) END
    """
  }

  /// How many of an owner's notifications are unchecked, counting each like separately.
  public static func unread(of owner: Int, in reader: some SocialReader) async throws -> Int {
    try await reader.rows("SELECT unread_notifications(\(owner))")[0].decode(Int.self)
  }

  /// Checks all of an owner's notifications up to and including an id. A lower id than before changes nothing.
  ///
  /// - Throws: `invalid_upTo`.
  public static func check(upTo id: Int, of owner: Int, in transaction: PostgresTransaction) async throws {
    guard EntityID.all.contains(id) else { throw SocialError.invalid("upTo", "must be a notification's id") }
    try await transaction.execute("SELECT check_notifications_up_to(\(owner), \(id))")
  }

  /// Checks single notifications of an owner; a group includes everything it contained when it was read.
  ///
  /// Notifications deleted meanwhile, because a like was taken back, are skipped.
  ///
  /// - Throws: `invalid_ids` unless there are 1 to 1,000 ids; `not_found` if none of them is the owner's.
  public static func check(_ ids: [Int], of owner: Int, in transaction: PostgresTransaction) async throws {
    guard (1...1000).contains(ids.count) else {
      throw SocialError.invalid("ids", "must be a list of 1 to 1,000 notification ids")
    }
    let ids = ids.filter(EntityID.all.contains)
    if ids.isEmpty { throw SocialError.notFound("notifications") }
    let found = try await transaction.query("SELECT check_notifications(\(owner), \(ids))")[0].decode(Int.self)
    guard found > 0 else { throw SocialError.notFound(ids.count == 1 ? "notification" : "notifications") }
  }
}
