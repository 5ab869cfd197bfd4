import Foundation
import LibPQClient

/// Reads new events for accounts with listening clients, many accounts per statement.
public enum EventFeed {
  /// The most items of one kind that a listener gets per read. The next read returns the rest.
  static let maxCount = 50
  /// The most posts that a client may have open.
  public static let maxPosts = 20

  /// A listening account, and the cursor it has reached.
  public struct Listener: Sendable, Hashable {
    public let account: Int
    public var cursor: EventFeedCursor

    public init(account: Int, cursor: EventFeedCursor) {
      self.account = account
      self.cursor = cursor
    }
  }

  /// The cursor for a client that starts listening now, the end of its session, and the posts of `posts` that the
  /// account may see.
  public static func present(
    of account: Int, session: SessionToken, posts: [Int], in reader: some SocialReader
  ) async throws -> (cursor: EventFeedCursor, sessionEnd: Date, visible: Set<Int>) {
    let rows = try await reader.rows(
      """
      SELECT coalesce((SELECT max(id) FROM notifications WHERE owner_id = \(account)), 0),
        coalesce((SELECT max(id) FROM messages WHERE owner_id = \(account)), 0),
        coalesce((SELECT max(id) FROM live_events), (SELECT id FROM live_floor)),
        coalesce((SELECT max(read_version) FROM conversations WHERE owner_id = \(account) AND read_version > 0), 0),
        coalesce((SELECT checks FROM notification_counts WHERE owner_id = \(account)), 0),
        coalesce((SELECT expires_at FROM sessions WHERE token_hash = \(session.hash)), now()),
        ARRAY(SELECT id FROM posts p WHERE id = ANY (\(posts)) AND \(Visibility.seesPost(account)))
      """)
    let (notification, message, live, reading, check, end, visible) = try rows[0].decode(
      Int.self, Int.self, Int.self, Int.self, Int.self, Date.self, [Int].self)
    let cursor = EventFeedCursor(
      notification: notification, message: message, live: live, reading: reading, check: check)
    return (cursor, end, Set(visible))
  }

  /// An item, and the cursor of a listener that has received it; nil if the item comes together with the next one.
  public struct Entry: Sendable, Hashable {
    public let item: EventFeedItem
    public let cursor: EventFeedCursor?
  }

  /// New items by listener index, in the order in which they occurred.
  public struct News: Sendable {
    public internal(set) var items: [Int: [Entry]] = [:]
    /// The indexes of listeners that have more items to read.
    public internal(set) var unfinished: Set<Int> = []

    mutating func add(_ item: EventFeedItem, _ cursor: EventFeedCursor?, to place: Int) {
      items[place, default: []].append(Entry(item: item, cursor: cursor))
    }
  }

  // MARK: Per-account events

  /// Reads each listener's new notifications, and whether the account has checked any. Advances the cursors.
  public static func notifications(for listeners: inout [Listener], in pool: PostgresPool) async throws -> News {
    if listeners.isEmpty { return News() }
    let accounts = listeners.map(\.account)
    let answers = try await pool.pipeline([
      """
      SELECT place, n.id, n.type, CASE WHEN \(Notifications.isShown(to: "account")) THEN a.username END, n.post_id,
        n.comment_id, c.text, unread_notifications(account)
      FROM unnest(\(accounts), \(listeners.map(\.cursor.notification))) WITH ORDINALITY AS listener (account, seen, place)
      CROSS JOIN LATERAL (
        SELECT * FROM notifications WHERE owner_id = account AND id > seen ORDER BY id LIMIT \(maxCount)
      ) n
      LEFT JOIN accounts a ON a.id = n.actor_id
      LEFT JOIN comments c ON n.type = 1 AND c.post_id = n.post_id AND c.id = n.comment_id
      ORDER BY place, n.id
      """,
      """
      SELECT place, checks, unread_notifications(account)
      FROM unnest(\(accounts), \(listeners.map(\.cursor.check))) WITH ORDINALITY AS listener (account, seen, place)
      JOIN notification_counts counts ON counts.owner_id = account AND counts.checks > seen
      """,
    ])
    var news = News()
    var counts: [Int: Int] = [:]
    for row in answers[0] {
      let (place, id, type, username, post, comment, text, unread) = try row.decode(
        Int.self, Int.self, Int16.self, String?.self, Int.self, Int.self, String?.self, Int.self)
      listeners[place - 1].cursor.notification = id
      counts[place - 1, default: 0] += 1
      // The notification is hidden from the listener.
      guard let username else { continue }
      let cursor = listeners[place - 1].cursor
      news.add(
        .notification(
          EventFeedItem.Notice(
            id: id, type: NotificationType(rawValue: type), username: username, post: post == 0 ? nil : post,
            unread: unread)),
        text == nil ? cursor : nil, to: place - 1)
      // A comment deleted meanwhile is not reported.
      if let text {
        news.add(.comment(id: comment, post: post, username: username, text: text), cursor, to: place - 1)
      }
    }
    for (place, check, unread) in try answers[1].decode(Int.self, Int.self, Int.self) {
      listeners[place - 1].cursor.check = check
      news.add(.checked(unread: unread), listeners[place - 1].cursor, to: place - 1)
    }
    news.unfinished = Set(counts.filter { $0.value == maxCount }.keys)
    return news
  }

  /// Reads each listener's new messages, sent elsewhere or received, and what was read. Advances the cursors.
  public static func messages(for listeners: inout [Listener], in pool: PostgresPool) async throws -> News {
    if listeners.isEmpty { return News() }
    let accounts = listeners.map(\.account)
    let answers = try await pool.pipeline([
      """
      SELECT place, m.id, CASE WHEN \(Visibility.isVisible("m.peer_id", to: "account")) THEN a.username END, m.is_own,
        m.text, m.created_at
      FROM unnest(\(accounts), \(listeners.map(\.cursor.message))) WITH ORDINALITY AS listener (account, seen, place)
      CROSS JOIN LATERAL (
        SELECT * FROM messages WHERE owner_id = account AND id > seen ORDER BY id LIMIT \(maxCount)
      ) m
      LEFT JOIN accounts a ON a.id = m.peer_id
      ORDER BY place, m.id
      """,
      """
      SELECT place, c.read_version, coalesce(a.username, '~' || c.peer_id), c.read_id,
        CASE WHEN \(Messages.isAllowed) THEN \(Messages.unread(of: "account")) END
      FROM unnest(\(accounts), \(listeners.map(\.cursor.reading))) WITH ORDINALITY AS listener (account, seen, place)
      CROSS JOIN LATERAL (
        SELECT * FROM conversations WHERE owner_id = account AND read_version > seen AND read_version > 0
        ORDER BY read_version LIMIT \(maxCount)
      ) c
      LEFT JOIN accounts a ON a.id = c.peer_id AND \(Visibility.isPublic("c.peer_id"))
      ORDER BY place, c.read_version
      """,
    ])
    var news = News()
    var counts: [Int: Int] = [:]
    for row in try answers[0].decode(Int.self, Int.self, String?.self, Bool.self, String.self, Date.self) {
      let (place, id, username, isOwn, text, date) = row
      listeners[place - 1].cursor.message = id
      counts[place - 1, default: 0] += 1
      guard let username else { continue }
      news.add(
        .message(id: id, username: username, isOwn: isOwn, text: text, createdAt: date), listeners[place - 1].cursor,
        to: place - 1)
    }
    news.unfinished = Set(counts.filter { $0.value == maxCount }.keys)
    counts = [:]
    for (place, version, username, upTo, unread) in try answers[1].decode(
      Int.self, Int.self, String.self, Int.self, Int?.self)
    {
      listeners[place - 1].cursor.reading = version
      counts[place - 1, default: 0] += 1
      // The conversation is hidden by a block.
      guard let unread else { continue }
      news.add(.read(username: username, upTo: upTo, unread: unread), listeners[place - 1].cursor, to: place - 1)
    }
    news.unfinished.formUnion(counts.filter { $0.value == maxCount }.keys)
    return news
  }

  // MARK: Shared events

  /// Rows of `live_events`, in order.
  public struct LiveRows: Sendable {
    public struct Row: Sendable {
      public let id: Int
      public let item: EventFeedItem
      /// The post whose thread it belongs to; nil for a lookup, a celeb or an agreement.
      public var post: Int?
      /// The author of a new comment.
      public var author: Int?
      /// The accounts that requested the lookup, or the parties to the agreement.
      public var followers: [Int] = []
      /// The celeb whose fans are notified.
      public var celeb: Int?
    }

    public let rows: [Row]
    /// The position up to which all rows were read.
    public let position: Int
    /// The id of the last deleted row.
    public let floor: Int
    public let isMoreLeft: Bool
  }

  private static let maxRows = 500

  /// The events after `position` in the threads of `posts`, in agreements, and in lookups and celebs queried on
  /// YouTube.
  ///
  /// - Parameter account: limits agreements, lookups and celebs to this account's; nil for all accounts.
  public static func live(
    after position: Int, posts: [Int], lookedUpBy account: Int? = nil, in pool: PostgresPool
  ) async throws -> LiveRows {
    // One statement reads one moment: a row that it does not see has a higher id than the last one.
    let rows = try await pool.query(
      """
      SELECT coalesce((SELECT max(id) FROM live_events), (SELECT id FROM live_floor)), (SELECT id FROM live_floor),
        e.id, e.post_id, e.comment_id, e.is_removed, e.lookup_id, l.state, e.followers,
        c.id, c.text, c.created_at, \(unescaped: AccountSummary.columns),
        a.id IS NOT NULL AND c.taken_down_at IS NULL AND \(Visibility.isPublic("a.id")),
        e.celeb_id, s.platform, s.account, coalesce(k.title, s.account), s.state, e.measure, e.span, e.rank::bigint,
        e.agreement_id, CASE WHEN g.withdrawn_at IS NOT NULL THEN 'withdrawn' WHEN g.id IS NOT NULL THEN 'sealed'
          ELSE m.state END,
        array_remove(ARRAY[coalesce(g.host_id, m.host_id), coalesce(g.joiner_id, m.joiner_id)], NULL)
      FROM (SELECT 1) one LEFT JOIN (
        SELECT e.*, ARRAY(SELECT f.account_id FROM lookup_followers f WHERE f.lookup_id = e.lookup_id) AS followers
        FROM live_events e WHERE e.id > \(position) AND (
          e.post_id = ANY (\(posts)) OR (e.lookup_id IS NOT NULL AND (\(account)::bigint IS NULL OR EXISTS (
            SELECT FROM lookup_followers f WHERE f.lookup_id = e.lookup_id AND f.account_id = \(account))))
          OR (e.celeb_id IS NOT NULL AND (\(account)::bigint IS NULL OR EXISTS (
            SELECT FROM celeb_fans f
            WHERE f.celeb_id = e.celeb_id AND f.account_id = \(account) AND f.since IS NOT NULL)))
          OR (e.agreement_id IS NOT NULL AND (\(account)::bigint IS NULL
            OR EXISTS (SELECT FROM agreement_meetings m WHERE m.id = e.agreement_id
              AND \(account) IN (m.host_id, m.joiner_id))
            OR EXISTS (SELECT FROM agreements g WHERE g.id = e.agreement_id
              AND \(account) IN (g.host_id, g.joiner_id)))))
        ORDER BY e.id LIMIT \(maxRows)
      ) e ON true
      LEFT JOIN comments c ON c.post_id = e.post_id AND c.id = e.comment_id
      LEFT JOIN accounts a ON a.id = c.account_id
      LEFT JOIN lookups l ON l.id = e.lookup_id
      LEFT JOIN celebs s ON s.id = e.celeb_id
      LEFT JOIN channels k ON s.platform = 'youtube' AND k.id = s.account
      LEFT JOIN agreements g ON g.id = e.agreement_id
      LEFT JOIN agreement_meetings m ON m.id = e.agreement_id
      ORDER BY e.id
      """)
    let newest = try Int(postgres: rows[0][0])
    let floor = try Int(postgres: rows[0][1])
    var found: [LiveRows.Row] = []
    var last = position
    for row in rows {
      guard let id = try Int?(postgres: row[2]) else { break }
      last = id
      if let lookup = try UUID?(postgres: row[6]) {
        guard let state = try String?(postgres: row[7]) else { continue }
        found.append(
          LiveRows.Row(id: id, item: .lookup(id: lookup, state: state), followers: try [Int](postgres: row[8])))
        continue
      }
      if let celeb = try Int?(postgres: row[18]) {
        found.append(LiveRows.Row(id: id, item: try item(ofCeleb: row), celeb: celeb))
        continue
      }
      if let agreement = try Int?(postgres: row[26]) {
        guard let state = try String?(postgres: row[27]) else { continue }
        found.append(
          LiveRows.Row(
            id: id, item: .agreement(id: agreement, state: state), followers: try [Int](postgres: row[28])))
        continue
      }
      let (post, comment) = (try Int(postgres: row[3]), try Int(postgres: row[4]))
      if try Bool(postgres: row[5]) {
        found.append(
          LiveRows.Row(id: id, item: .threadCommentRemoved(comment, post: post), post: post))
      } else if try !row[9].isNull && !row[12].isNull && Bool(postgres: row[17]) {
        // A comment deleted meanwhile has its own row for the deletion.
        let author = try AccountSummary(row: row, at: 12)
        let said = Comment(
          id: comment, author: author, text: try String(postgres: row[10]), createdAt: try Date(postgres: row[11]))
        found.append(
          LiveRows.Row(id: id, item: .threadComment(said, post: post), post: post, author: author.id))
      }
    }
    let isMoreLeft = rows.count == maxRows
    return LiveRows(rows: found, position: isMoreLeft ? last : max(newest, last), floor: floor, isMoreLeft: isMoreLeft)
  }

  private static func item(ofCeleb row: PostgresRow) throws -> EventFeedItem {
    let account = try CelebAccount(platform: String(postgres: row[19]), account: String(postgres: row[20]))
    let title = try String(postgres: row[21])
    if let rank = try Int?(postgres: row[25]),
      let measure = RankingKey.Measure(rawValue: try String(postgres: row[23])),
      let window = RankingKey.Window(rawValue: try String(postgres: row[24]))
    {
      return .topTen(account, title: title, by: measure, window, rank: rank)
    }
    return .celeb(account, title: title, state: CelebState(rawValue: try String(postgres: row[22])) ?? .unchecked)
  }

  /// The fans of each of `celebs` among `accounts`.
  public static func fans(
    of celebs: [Int], among accounts: [Int], in pool: PostgresPool
  ) async throws -> [Int: [Int]] {
    if celebs.isEmpty { return [:] }
    let rows = try await pool.query(
      """
      SELECT celeb_id, account_id FROM celeb_fans
      WHERE account_id = ANY (\(accounts)) AND celeb_id = ANY (\(celebs)) AND since IS NOT NULL
      """
    ).decode(Int.self, Int.self)
    return Dictionary(grouping: rows, by: \.0).mapValues { $0.map(\.1) }
  }

  /// For each of `viewers`, the `authors` whose content it is not shown.
  public static func restrictions(
    of viewers: [Int], on authors: [Int], in pool: PostgresPool
  ) async throws -> [Int: Set<Int>] {
    let rows = try await pool.query(
      """
      SELECT account_id, other_id FROM restrictions
      WHERE other_id = ANY (\(authors)) AND account_id = ANY (\(viewers))
      """
    ).decode(Int.self, Int.self)
    return Dictionary(grouping: rows, by: \.0).mapValues { Set($0.map(\.1)) }
  }

  /// The position up to which all rows of `live_events` are written.
  public static func position(in pool: PostgresPool) async throws -> Int {
    try await pool.query("SELECT coalesce((SELECT max(id) FROM live_events), (SELECT id FROM live_floor))")[0]
      .decode(Int.self)
  }

  /// The id of the last deleted row of `live_events`.
  public static func floor(in pool: PostgresPool) async throws -> Int {
    try await pool.query("SELECT id FROM live_floor")[0].decode(Int.self)
  }

  /// The current counts of posts.
  public static func counts(of posts: [Int], in pool: PostgresPool) async throws -> [PostCounts] {
    try await pool.query(
      """
      SELECT post, coalesce(sum(likes), 0)::bigint, coalesce(sum(comments), 0)::bigint
      FROM unnest(\(posts)) post LEFT JOIN post_counts kept ON kept.post_id = post GROUP BY post
      """
    ).decode(Int.self, Int.self, Int.self).map { PostCounts(post: $0.0, likes: $0.1, comments: $0.2) }
  }

  /// The posts of `posts` that are visible to everyone.
  public static func visible(_ posts: [Int], in reader: some SocialReader) async throws -> Set<Int> {
    Set(
      try await reader.rows("SELECT id FROM posts p WHERE id = ANY (\(posts)) AND \(Visibility.seesPost(nil))")
        .decode(Int.self))
  }

  /// Whether each viewer may see the post at the same place.
  public static func areVisible(
    _ posts: [Int], to viewers: [Int], in reader: some SocialReader
  ) async throws -> [Bool] {
    let places = try await reader.rows(
      """
      SELECT place FROM unnest(\(posts), \(viewers)) WITH ORDINALITY AS asked (post, viewer, place)
      JOIN posts p ON p.id = post WHERE \(Visibility.seesPost("viewer"))
      """
    ).decode(Int.self)
    var areVisible = Array(repeating: false, count: posts.count)
    for place in places { areVisible[place - 1] = true }
    return areVisible
  }

  // MARK: Sweep

  /// Deletes rows older than a day, oldest first, and records how far.
  ///
  /// - Returns: how many, at most `limit`.
  static func sweep(upTo limit: Int, in transaction: PostgresTransaction) async throws -> Int {
    let gone = try await transaction.query(
      """
      DELETE FROM live_events WHERE id = ANY (ARRAY(
        SELECT id FROM live_events WHERE created_at < now() - interval '1 day' ORDER BY id LIMIT \(limit)))
      RETURNING id
      """
    ).decode(Int.self)
    if let last = gone.max() {
      try await transaction.execute("UPDATE live_floor SET id = greatest(id, \(last))")
    }
    return gone.count
  }
}
