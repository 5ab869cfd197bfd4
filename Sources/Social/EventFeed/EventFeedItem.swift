import Foundation

/// Something that has just come for an account.
public enum EventFeedItem: Sendable, Hashable {
  /// Somebody likes a post of the account's, comments on one, or follows it.
  case notification(Notice)
  /// What somebody said to a post of the account's; its notification comes besides.
  case comment(id: Int, post: Int, username: String, text: String)
  case message(id: Int, username: String, text: String, createdAt: Date)
  /// A lookup that the account asked for has ended.
  case lookup(id: UUID, state: String)

  /// A notification as the list of them has it, ungrouped.
  public struct Notice: Sendable, Hashable {
    public let id: Int
    public let type: NotificationType
    public let username: String
    public let post: Int?
    /// How many are unread with it.
    public let unread: Int
  }
}
