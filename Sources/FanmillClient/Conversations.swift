import Foundation

/// A message between two accounts.
public struct Message: Sendable, Hashable, Codable, Identifiable {
  /// Grows with time.
  public var id: Int
  /// Whether the signed-in account wrote it.
  public var own: Bool
  public var text: String
  public var createdAt: Date

  public init(id: Int, own: Bool, text: String, createdAt: Date) {
    self.id = id
    self.own = own
    self.text = text
    self.createdAt = createdAt
  }
}

/// A conversation with another account.
public struct Conversation: Sendable, Hashable, Codable {
  /// The other account. A deleted one is named `deleted account` and addressed as `~ID`.
  public var with: Account
  /// The latest message.
  public var last: Message
  public var unread: Int

  public init(with: Account, last: Message, unread: Int) {
    self.with = with
    self.last = last
    self.unread = unread
  }
}

extension FanmillClient {
  public var conversations: Conversations { Conversations(sender: sender) }

  /// `conversations`: the signed-in account's messages.
  public struct Conversations: Sendable {
    let sender: RequestSender

    /// Conversations, the one with the latest message first.
    public func list(limit: Int? = nil) -> Pages<Conversation> {
      sender.pages(APIRequest(.get, ["conversations"]), limit: limit)
    }

    /// The messages with an account, newest first.
    ///
    /// - Returns: pages that throw `not_found`.
    public func messages(with username: String, limit: Int? = nil) -> Pages<Message> {
      sender.pages(APIRequest(.get, ["conversations", username, "messages"]), limit: limit)
    }

    /// How many messages are unread in all conversations.
    public func unread() async throws -> Int {
      try await sender.value(APIRequest(.get, ["conversations", "unread"]), as: Unread.self).unread
    }

    private struct Draft: Encodable { var text: String }

    /// - Parameters:
    ///   - text: 1 to 2,000 characters.
    ///   - key: repeats a call that has thrown; see ``FanmillClient``.
    /// - Throws: `cannot_message_yourself`, `invalid_text`, `not_found`, `too_many_messages`.
    @discardableResult
    public func send(_ text: String, to username: String, key: UUID = UUID()) async throws -> Message {
      try await sender.value(
        APIRequest(.post, ["conversations", username, "messages"], body: Draft(text: text)).keyed(key))
    }

    private struct Read: Encodable { var upTo: Int }
    private struct Unread: Decodable { var unread: Int }

    /// Marks the messages with an account as read.
    ///
    /// - Parameter id: the last message that was read.
    /// - Returns: how many messages are unread in all conversations.
    /// - Throws: `not_found`.
    @discardableResult
    public func read(upTo id: Message.ID, with username: String) async throws -> Int {
      try await sender.value(
        APIRequest(.post, ["conversations", username, "read"], body: Read(upTo: id)), as: Unread.self
      ).unread
    }
  }
}
