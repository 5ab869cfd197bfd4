import Foundation
import LibPQClient

/// Finds what is new for accounts whose clients listen: all of them by a few statements, whatever their number. Nothing
/// is written for it when news is made, so that what nobody listens to costs nothing.
public enum EventFeed {
  /// So many items of a kind come for one listener at a time; the rest comes the next time.
  static let maxCount = 50

  /// Who listens, and from where on.
  public struct Listener: Sendable, Hashable {
    public let account: Int
    public var cursor: EventFeedCursor

    public init(account: Int, cursor: EventFeedCursor) {
      self.account = account
      self.cursor = cursor
    }
  }

  /// The cursor of who begins to listen now.
  public static func present(of account: Int, in reader: some SocialReader) async throws -> EventFeedCursor {
    let rows = try await reader.rows(
      """
      SELECT coalesce((SELECT max(id) FROM notifications WHERE owner_id = \(account)), 0),
        coalesce((SELECT max(id) FROM messages WHERE owner_id = \(account) AND NOT is_own), 0), clock_timestamp()
      """)
    let (notification, message, date) = try rows[0].decode(Int.self, Int.self, Date.self)
    return EventFeedCursor(notification: notification, message: message, since: date)
  }

  /// What is new for each listener, in the order in which it came, and moves their cursors on.
  ///
  /// - Returns: items by the listener's place.
  public static func next(
    for listeners: inout [Listener], in pool: PostgresPool
  ) async throws -> [Int: [EventFeedItem]] {
    if listeners.isEmpty { return [:] }
    let accounts = listeners.map(\.account)
    // Who has come again after a while reads what ended since; all others, what has just ended.
    let recent = (listeners.map(\.cursor.since).max() ?? .distantPast).addingTimeInterval(-EventFeedCursor.lookBack)
    let late = listeners.indices.filter { listeners[$0].cursor.since < recent }
    let current = listeners.indices.filter { listeners[$0].cursor.since >= recent }
    let answers = try await pool.pipeline([
      notifications(accounts, listeners.map(\.cursor.notification)),
      messages(accounts, listeners.map(\.cursor.message)),
      endedLookups(current.map { $0 + 1 }, current.map { listeners[$0] }),
      earlierLookups(late.map { $0 + 1 }, late.map { listeners[$0] }),
      "SELECT clock_timestamp()",
    ])
    var items: [Int: [EventFeedItem]] = [:]
    for row in answers[0] {
      let (place, id, type, username, post, comment, text, unread) = try row.decode(
        Int.self, Int.self, Int16.self, String?.self, Int.self, Int.self, String?.self, Int.self)
      listeners[place - 1].cursor.notification = id
      // The listener is not shown what this account does.
      guard let username else { continue }
      items[place - 1, default: []].append(
        .notification(
          EventFeedItem.Notice(
            id: id, type: NotificationType(rawValue: type), username: username, post: post == 0 ? nil : post,
            unread: unread)))
      // A comment that is gone by now is none to tell of.
      if let text {
        items[place - 1, default: []].append(.comment(id: comment, post: post, username: username, text: text))
      }
    }
    for (place, id, username, text, date) in try answers[1].decode(
      Int.self, Int.self, String?.self, String.self, Date.self)
    {
      listeners[place - 1].cursor.message = id
      guard let username else { continue }
      items[place - 1, default: []].append(.message(id: id, username: username, text: text, createdAt: date))
    }
    for answer in [answers[2], answers[3]] {
      for (place, id, state, end) in try answer.decode(Int.self, UUID.self, String.self, Date.self)
      where listeners[place - 1].cursor.toldLookups.updateValue(end, forKey: id) == nil {
        items[place - 1, default: []].append(.lookup(id: id, state: state))
      }
    }
    let now = try answers[4][0].decode(Date.self)
    for place in listeners.indices { listeners[place].cursor.advance(to: now) }
    return items
  }

  private static func notifications(_ accounts: [Int], _ seen: [Int]) -> PostgresQuery {
    """
    SELECT place, n.id, n.type, CASE WHEN \(Notifications.isShown(to: "account")) THEN a.username END, n.post_id,
      n.comment_id, c.text, unread_notifications(account)
    FROM unnest(\(accounts), \(seen)) WITH ORDINALITY AS listener (account, seen, place)
    CROSS JOIN LATERAL (
      SELECT * FROM notifications WHERE owner_id = account AND id > seen ORDER BY id LIMIT \(maxCount)
    ) n
    LEFT JOIN accounts a ON a.id = n.actor_id
    LEFT JOIN comments c ON n.type = 1 AND c.post_id = n.post_id AND c.id = n.comment_id
    ORDER BY place, n.id
    """
  }

  private static func messages(_ accounts: [Int], _ seen: [Int]) -> PostgresQuery {
    """
    SELECT place, m.id, CASE WHEN \(Visibility.isVisible("m.peer_id", to: "account")) THEN a.username END, m.text,
      m.created_at
    FROM unnest(\(accounts), \(seen)) WITH ORDINALITY AS listener (account, seen, place)
    CROSS JOIN LATERAL (
      SELECT * FROM messages WHERE owner_id = account AND NOT is_own AND id > seen ORDER BY id LIMIT \(maxCount)
    ) m
    LEFT JOIN accounts a ON a.id = m.peer_id
    ORDER BY place, m.id
    """
  }

  /// Lookups that ended lately, whoever asked for them, and those of the listeners among them.
  private static func endedLookups(_ places: [Int], _ listeners: [Listener]) -> PostgresQuery {
    let since = listeners.map { $0.cursor.since.addingTimeInterval(-EventFeedCursor.lookBack) }
    return """
      SELECT place, l.id, l.state, l.ended_at
      FROM (SELECT id, state, ended_at FROM lookups WHERE ended_at > \(since.min() ?? .distantFuture) OFFSET 0) l
      JOIN lookup_followers f ON f.lookup_id = l.id
      JOIN unnest(\(places), \(listeners.map(\.account)), \(since)) AS listener (place, account, since)
        ON listener.account = f.account_id
      WHERE l.state IN ('done', 'failed') AND l.ended_at > listener.since
      ORDER BY place, l.ended_at
      """
  }

  /// All that each of these asked for.
  private static func earlierLookups(_ places: [Int], _ listeners: [Listener]) -> PostgresQuery {
    """
    SELECT place, l.id, l.state, l.ended_at
    FROM unnest(\(places), \(listeners.map(\.account)),
      \(listeners.map { $0.cursor.since.addingTimeInterval(-EventFeedCursor.lookBack) })) AS listener (place, account, since)
    JOIN lookup_followers f ON f.account_id = account
    JOIN lookups l ON l.id = f.lookup_id
    WHERE l.state IN ('done', 'failed') AND l.ended_at > since
    ORDER BY place, l.ended_at
    """
  }
}
