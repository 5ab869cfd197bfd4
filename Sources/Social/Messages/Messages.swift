import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// Messages between two accounts. How copies, order and counts are kept is described in `migrations/0024_messages.sql`.
public enum Messages {
  /// How many messages an account sends a minute at most.
  public static let limit = 60

  /// Sends a message.
  ///
  /// - Throws: `not_found` if nobody has the name, `cannot_message_yourself`, `too_many_messages`.
  public static func send(
    _ draft: MessageDraft, to name: String, by sender: Int, in transaction: PostgresTransaction, limit: Int = limit
  ) async throws -> Message {
    let recipient = try await account(name, otherThan: sender, in: transaction)
    let rows = try await transaction.query(
      """
      SELECT message, sent_at, wait FROM send_message(\(sender), \(recipient), \(draft.text), \(Int32(clamping: limit)))
      """)
    let (id, date, wait) = try rows[0].decode(Int?.self, Date?.self, Int32?.self)
    guard let id, let date else {
      let wait = Int(wait ?? 60)
      throw SocialError(
        .tooManyMessages,
        "an account sends \(limit) messages a minute at most: the next one is possible in \(wait) seconds",
        retryAfter: wait)
    }
    return Message(id: id, isOwn: true, text: draft.text, createdAt: date)
  }

  /// A page of an account's conversations, the one with the newest message first. The cursor is that message's id.
  public static func conversations(
    of owner: Int, _ page: PageRequest, in reader: some SocialReader
  ) async throws -> Page<Conversation> {
    let rows = try await reader.rows(
      """
      SELECT a.id, a.username, a.name, a.major, \(unescaped: Accounts.avatar), m.id, m.is_own, m.text, m.created_at, c.unread
      FROM conversations c JOIN accounts a ON a.id = c.peer_id
      JOIN messages m ON m.owner_id = c.owner_id AND m.peer_id = c.peer_id AND m.id = c.last_id
      WHERE c.owner_id = \(owner) AND c.last_id < \(page.cursor) ORDER BY c.last_id DESC LIMIT \(page.limit + 1)
      """)
    let items = try rows.map { row in
      Conversation(
        peer: AccountSummary(
          id: try Int(postgres: row[0]), username: try String(postgres: row[1]), name: try String(postgres: row[2]),
          major: try String(postgres: row[3]), avatar: try String?(postgres: row[4])),
        last: Message(
          id: try Int(postgres: row[5]), isOwn: try Bool(postgres: row[6]), text: try String(postgres: row[7]),
          createdAt: try Date(postgres: row[8])),
        unread: try Int(postgres: row[9]))
    }
    return Page(items, limit: page.limit, cursor: \.last.id)
  }

  /// A page of what an account and another have written to each other, newest first.
  ///
  /// - Throws: `not_found` if nobody has the name, `cannot_message_yourself`.
  public static func messages(
    of owner: Int, with name: String, _ page: PageRequest, in reader: some SocialReader
  ) async throws -> Page<Message> {
    let peer = try await account(name, otherThan: owner, in: reader)
    let rows = try await reader.rows(
      """
      SELECT id, is_own, text, created_at FROM messages
      WHERE owner_id = \(owner) AND peer_id = \(peer) AND id < \(page.cursor) ORDER BY id DESC LIMIT \(page.limit + 1)
      """
    ).decode(Int.self, Bool.self, String.self, Date.self)
    let items = rows.map { Message(id: $0.0, isOwn: $0.1, text: $0.2, createdAt: $0.3) }
    return Page(items, limit: page.limit, cursor: \.id)
  }

  /// Notes that an account has read a conversation up to a message, that included. A lower id than was noted before
  /// changes nothing.
  ///
  /// - Throws: as `messages` does; `invalid_upTo`.
  public static func read(
    upTo id: Int, of owner: Int, with name: String, in transaction: PostgresTransaction
  ) async throws {
    guard id >= 0 else { throw SocialError.invalid("upTo", "is a message's id") }
    let peer = try await account(name, otherThan: owner, in: transaction)
    try await transaction.execute("SELECT FROM read_messages(\(owner), \(peer), \(id))")
  }

  /// How many messages came to an account that it has not read.
  public static func unread(of owner: Int, in reader: some SocialReader) async throws -> Int {
    let rows = try await reader.rows("SELECT unread FROM inboxes WHERE owner_id = \(owner)")
    return try rows.first?.decode(Int.self) ?? 0
  }

  private static func account(_ name: String, otherThan own: Int, in reader: some SocialReader) async throws -> Int {
    let id = try await Accounts.id(of: name, in: reader)
    guard id != own else {
      throw SocialError(.cannotMessageYourself, "a conversation is with somebody else")
    }
    return id
  }
}
