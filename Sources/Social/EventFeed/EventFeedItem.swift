import Foundation

/// Something that has just come for an account.
public enum EventFeedItem: Sendable, Hashable {
  /// Somebody likes a post of the account's, comments on one, or follows it.
  case notification(Notice)
  /// What somebody said to a post of the account's; its notification comes besides.
  case comment(id: Int, post: Int, username: String, text: String)
  /// A message that came, or, for the account's other devices, that the account sent.
  case message(id: Int, username: String, isOwn: Bool, text: String, createdAt: Date)
  /// The account has read a conversation on another device.
  case read(username: String, upTo: Int, unread: Int)
  /// The account has checked notifications on another device.
  case checked(unread: Int)
  /// A lookup that the account asked for has ended.
  case lookup(id: UUID, state: String)
  /// YouTube was asked for a celeb that the account has registered: it knows the channel, or does not.
  case celeb(CelebAccount, title: String, state: CelebState)
  /// A celeb that the account has registered is among the first ten of a ranking for the first time.
  case topTen(CelebAccount, title: String, by: RankingKey.Measure, RankingKey.Window, rank: Int)
  /// Something has changed in a meeting or an agreement of the account's.
  case agreement(id: Int, state: String)
  /// A comment came to a post that the client has open.
  case threadComment(Comment, post: Int)
  /// A comment went from it.
  case threadCommentRemoved(Int, post: Int)
  /// What a post that the client has open counts now.
  case counts(PostCounts)
  /// A post that the client has open is gone.
  case postRemoved(Int)
  /// So much happened since the client was here last that it reads all again.
  case reset

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

/// What a post counts.
public struct PostCounts: Sendable, Hashable {
  public let post: Int
  public let likes: Int
  public let comments: Int
}
