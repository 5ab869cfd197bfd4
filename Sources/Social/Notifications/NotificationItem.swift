import Foundation
import LibPQClient

/// A notification as its reader sees it; grouped, the likes of one post in one window are one.
public struct NotificationItem: Sendable, Hashable {
  /// Who did what it tells of.
  public struct Actor: Sendable, Hashable {
    public let id: Int
    /// As the account is called now; nil if it is gone.
    public let username: String?
  }

  /// Grows with time. An odd number names a group as it was when it was read.
  public let id: Int
  public let type: NotificationType
  /// A group is checked when all of it is: it is unread again when it grows.
  public let isChecked: Bool
  /// When the latest that it tells of happened.
  public let createdAt: Date
  /// The newest first; of a group at most `Notifications.actorsShown`.
  public let actors: [Actor]
  /// The post that is liked or commented on.
  public let post: Int?
  public let comment: Int?
  /// How many it stands for.
  public let count: Int
  /// Of a follow: whether the reader follows back.
  public let isFollowed: Bool?

  init(row: PostgresRow, isGrouped: Bool) throws(PostgresError) {
    type = NotificationType(rawValue: try Int16(postgres: row[1]))
    let newest = try Int(postgres: row[0])
    id = isGrouped && type == .like ? newest | 1 : newest
    isChecked = try Bool(postgres: row[2])
    createdAt = try Date(postgres: row[3])
    actors = zip(try [Int](postgres: row[4]), try [String](postgres: row[5])).map { id, name in
      Actor(id: id, username: name.isEmpty ? nil : name)
    }
    let (post, comment) = (try Int(postgres: row[6]), try Int(postgres: row[7]))
    self.post = post == 0 ? nil : post
    self.comment = comment == 0 ? nil : comment
    count = try Int(postgres: row[8])
    isFollowed = try Bool?(postgres: row[9])
  }
}
