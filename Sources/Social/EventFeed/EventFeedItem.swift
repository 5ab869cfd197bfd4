import Foundation

/// A new event for an account.
public enum EventFeedItem: Sendable, Hashable {
  /// A like or comment on one of the account's posts, or a new follower.
  case notification(Notice)
  /// A comment on one of the account's posts; its notification comes as well.
  case comment(id: Int, post: Int, username: String, text: String)
  /// A received message, or a message that the account sent, for its other devices.
  case message(id: Int, username: String, isOwn: Bool, text: String, createdAt: Date)
  /// The account has read a conversation on another device.
  case read(username: String, upTo: Int, unread: Int)
  /// The account has checked notifications on another device.
  case checked(unread: Int)
  /// A lookup that the account requested has ended.
  case lookup(id: UUID, state: String)
  /// YouTube was queried for a celeb that the account has registered, and knows the channel or does not.
  case celeb(CelebAccount, title: String, state: CelebState)
  /// A celeb that the account has registered entered the top ten of a ranking for the first time.
  case topTen(CelebAccount, title: String, by: RankingKey.Measure, RankingKey.Window, rank: Int)
  /// A meeting or an agreement of the account changed.
  case agreement(id: Int, state: String)
  /// A new comment on a post that the client has open.
  case threadComment(Comment, post: Int)
  /// A comment was removed from a post that the client has open.
  case threadCommentRemoved(Int, post: Int)
  /// The current counts of a post that the client has open.
  case counts(PostCounts)
  /// A post that the client has open was removed.
  case postRemoved(Int)
  /// The client has missed so many events that it must read everything again.
  case reset

  /// A notification as in the list of notifications, ungrouped.
  public struct Notice: Sendable, Hashable {
    public let id: Int
    public let type: NotificationType
    public let username: String
    public let post: Int?
    /// The unread count including this one.
    public let unread: Int
  }
}

/// A post's counts.
public struct PostCounts: Sendable, Hashable {
  public let post: Int
  public let likes: Int
  public let comments: Int
}
