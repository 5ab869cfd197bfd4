import Foundation
import LibPQClient

/// A message between two accounts, as one of them sees it.
public struct Message: Sendable, Hashable {
  /// Increases over time.
  public let id: Int
  /// Whether the viewer wrote it.
  public let isOwn: Bool
  public let text: String
  public let createdAt: Date
}

/// A conversation, as one of its two accounts sees it.
public struct Conversation: Sendable, Hashable {
  public let peer: AccountSummary
  /// The newest message.
  public let last: Message
  /// How many messages from the other account are unread.
  public let unread: Int
}

/// A new message, validated on creation.
public struct MessageDraft: Sendable, Hashable {
  public let text: String

  /// - Throws: `invalid_text`.
  public init(text: String) throws(SocialError) {
    try FieldRules.said(text)
    self.text = text
  }
}
