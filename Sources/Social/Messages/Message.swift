import Foundation
import LibPQClient

/// What somebody wrote to somebody, as one of the two sees it.
public struct Message: Sendable, Hashable {
  /// Grows with time.
  public let id: Int
  /// Whether the one who looks has written it.
  public let isOwn: Bool
  public let text: String
  public let createdAt: Date
}

/// A conversation, as one of the two sees it.
public struct Conversation: Sendable, Hashable {
  public let peer: AccountSummary
  /// The newest message.
  public let last: Message
  /// How many messages of the other's were not read.
  public let unread: Int
}

/// A message that somebody writes. Checked when it is made.
public struct MessageDraft: Sendable, Hashable {
  public let text: String

  /// - Throws: `invalid_text`.
  public init(text: String) throws(SocialError) {
    try FieldRules.said(text)
    self.text = text
  }
}
