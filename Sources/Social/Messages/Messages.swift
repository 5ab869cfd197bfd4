import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// Messages between two accounts. `migrations/0024_messages.sql` describes how copies, order and counts are stored.
public enum Messages {
  /// How many messages an account may send per minute.
  public static let limit = 60

  /// Sends a message.
  ///
  /// - Throws: `not_found` if no account has the name, `cannot_message_yourself`, `too_many_messages`.
  public static func send(
    _ draft: MessageDraft, to name: String, by sender: Int, in transaction: PostgresTransaction, limit: Int = limit
  ) async throws -> Message {
    let recipient = try await Accounts.id(of: name, seenBy: sender, in: transaction)
    guard recipient != sender else { throw toOneself }
    let rows = try await transaction.query(
      """
      SELECT message, sent_at, wait FROM send_message(\(sender), \(recipient), \(draft.text), \(Int32(clamping: limit)))
      """)
    let (id, date, wait) = try rows[0].decode(Int?.self, Date?.self, Int32?.self)
    if id == nil, wait == nil { throw SocialError.notFound("account") }
    guard let id, let date else {
      let wait = Int(wait ?? 60)
      throw SocialError(
        .tooManyMessages,
        "an account may send at most \(limit) messages a minute: try again in \(wait) seconds",
        retryAfter: wait)
    }
    return Message(id: id, isOwn: true, text: draft.text, createdAt: date)
  }

  /// A page of an account's conversations, most recent message first. The cursor is that message's id.
  public static func conversations(
    of owner: Int, _ page: PageRequest, in reader: some SocialReader
  ) async throws -> Page<Conversation> {
    try await Page.filled(from: page.cursor, limit: page.limit) { cursor, count in
      try await reader.rows(
        """
        SELECT c.last_id, c.peer_id, a.username, a.name, a.major, \(unescaped: Accounts.avatar), m.is_own, m.text,
          m.created_at, c.unread, h.is_deleted, \(isAllowed)
        FROM (
          SELECT * FROM conversations WHERE owner_id = \(owner) AND last_id < \(cursor) ORDER BY last_id DESC LIMIT \(count)
        ) c
        JOIN messages m ON m.owner_id = c.owner_id AND m.peer_id = c.peer_id AND m.id = c.last_id
        LEFT JOIN accounts a ON a.id = c.peer_id
        LEFT JOIN hidden_accounts h ON h.account_id = c.peer_id
        ORDER BY c.last_id DESC
        """
      ).map { row in
        let id = try Int(postgres: row[0])
        guard try Bool(postgres: row[11]) else { return (id, nil) }
        let last = Message(
          id: id, isOwn: try Bool(postgres: row[6]), text: try String(postgres: row[7]),
          createdAt: try Date(postgres: row[8]))
        return (
          id, Conversation(peer: try Peer(row: row, at: 1).account, last: last, unread: try Int(postgres: row[9]))
        )
      }
    }
  }

  /// Whether neither account of a conversation `c` has blocked the other.
  static let isAllowed: PostgresQuery = """
    NOT EXISTS (SELECT FROM restrictions r WHERE r.account_id = c.owner_id AND r.other_id = c.peer_id
      AND (r.blocked_at IS NOT NULL OR r.is_blocked))
    """

  /// A page of the messages between an account and another, newest first.
  ///
  /// - Throws: `not_found` if no account has the name, `cannot_message_yourself`.
  public static func messages(
    of owner: Int, with name: String, _ page: PageRequest, in reader: some SocialReader
  ) async throws -> Page<Message> {
    let peer = try await peer(name, of: owner, in: reader)
    let rows = try await reader.rows(
      """
      SELECT id, is_own, text, created_at FROM messages
      WHERE owner_id = \(owner) AND peer_id = \(peer) AND id < \(page.cursor) ORDER BY id DESC LIMIT \(page.limit + 1)
      """
    ).decode(Int.self, Bool.self, String.self, Date.self)
    let items = rows.map { Message(id: $0.0, isOwn: $0.1, text: $0.2, createdAt: $0.3) }
    return Page(items, limit: page.limit, cursor: \.id)
  }

  /// Records that an account has read a conversation up to and including a message. A lower id than recorded before
  /// changes nothing.
  ///
  /// - Throws: the errors of `messages`; `invalid_upTo`.
  public static func read(
    upTo id: Int, of owner: Int, with name: String, in transaction: PostgresTransaction
  ) async throws {
    guard id >= 0 else { throw SocialError.invalid("upTo", "must be a message's id") }
    let peer = try await peer(name, of: owner, in: transaction)
    try await transaction.execute("SELECT FROM read_messages(\(owner), \(peer), \(id))")
  }

  /// How many received messages an account has not read. Messages from blocked and blocking accounts do not count.
  public static func unread(of owner: Int, in reader: some SocialReader) async throws -> Int {
    try await reader.rows("SELECT \(unread(of: "\(owner)"))")[0].decode(Int.self)
  }

  /// - Parameter owner: an expression.
  static func unread(of owner: PostgresQuery) -> PostgresQuery {
    """
    coalesce((
      SELECT inbox.unread - (
        SELECT coalesce(sum(hidden.unread), 0)::bigint FROM restrictions r
        JOIN conversations hidden ON hidden.owner_id = r.account_id AND hidden.peer_id = r.other_id
        WHERE r.account_id = \(owner) AND (r.blocked_at IS NOT NULL OR r.is_blocked))
      FROM inboxes inbox WHERE inbox.owner_id = \(owner)), 0)
    """
  }

  /// The account that an owner has a conversation with. A deleted or suspended account is named by its id, since its
  /// messages remain.
  private static func peer(_ name: String, of owner: Int, in reader: some SocialReader) async throws -> Int {
    guard let id = AccountSummary.unnamedID(name) else {
      let id = try await Accounts.id(of: name, seenBy: owner, in: reader)
      guard id != owner else { throw toOneself }
      return id
    }
    let rows = try await reader.rows(
      """
      SELECT FROM conversations c WHERE owner_id = \(owner) AND peer_id = \(id) AND \(isAllowed)
        AND (NOT EXISTS (SELECT FROM accounts a WHERE a.id = peer_id) OR NOT \(Visibility.isPublic("peer_id")))
      """)
    if rows.isEmpty { throw SocialError.notFound("account") }
    return id
  }

  private static var toOneself: SocialError {
    SocialError(.cannotMessageYourself, "a conversation needs another account")
  }
}

/// The other account of a conversation, which may be deleted or suspended.
private struct Peer {
  let account: AccountSummary

  /// Reads an account's columns and, nine columns after the first, whether it is deleted; nil for a public account.
  init(row: PostgresRow, at first: Int) throws {
    let id = try Int(postgres: row[first])
    let isDeleted = try Bool?(postgres: row[first + 9])
    if let username = try String?(postgres: row[first + 1]), isDeleted == nil {
      account = AccountSummary(
        id: id, username: username, name: try String(postgres: row[first + 2]),
        major: try String(postgres: row[first + 3]), avatar: try String?(postgres: row[first + 4]))
    } else {
      account = .unnamed(id, isDeleted == false ? "suspended account" : "deleted account")
    }
  }
}
