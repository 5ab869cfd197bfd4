import Foundation
import LibPQClient

/// A notification as its reader sees it. When grouped, the likes of one post in one window are one item.
public struct NotificationItem: Sendable, Hashable {
  /// Increases over time. An odd id identifies a group as it was when it was read.
  public let id: Int
  public let type: NotificationType
  /// A group is checked once all its notifications are; it becomes unread again when it grows.
  public let isChecked: Bool
  /// The time of the latest event in it.
  public let createdAt: Date
  /// The accounts that acted, newest first; for a group, at most `Notifications.actorsShown`.
  public let actors: [AccountSummary]
  /// The post that was liked or commented on.
  public let post: Int?
  /// The post's title; nil if it is deleted.
  public let title: String?
  /// The post's first picture.
  public let picture: MediaID?
  public let comment: Int?
  /// The beginning of the comment: at most `Notifications.textShown` characters. nil if it is deleted.
  public let text: String?
  /// How many notifications it represents.
  public let count: Int
  /// For a follow, whether the reader follows back.
  public let isFollowed: Bool?

  init(_ row: NotificationRow, actors: [Int: AccountSummary]) {
    id = row.id
    type = row.type
    isChecked = row.isChecked
    createdAt = row.createdAt
    self.actors = row.actors.compactMap { actors[$0] }
    post = row.post == 0 ? nil : row.post
    title = row.title
    picture = row.picture.flatMap(MediaID.init)
    comment = row.comment == 0 ? nil : row.comment
    text = row.text
    count = row.count
    isFollowed = row.isFollowed
  }
}

/// A notification before its actors are loaded.
struct NotificationRow: Sendable {
  let id: Int
  let type: NotificationType
  let isChecked: Bool
  let createdAt: Date
  let actors: [Int]
  /// 0 if there is none.
  let post: Int
  /// 0 if there is none.
  let comment: Int
  let count: Int
  let isFollowed: Bool?
  let title: String?
  let picture: String?
  let text: String?

  init(_ row: PostgresRow, isGrouped: Bool) throws(PostgresError) {
    type = NotificationType(rawValue: try Int16(postgres: row[1]))
    let newest = try Int(postgres: row[0])
    id = isGrouped && type == .like ? newest | 1 : newest
    isChecked = try Bool(postgres: row[2])
    createdAt = try Date(postgres: row[3])
    actors = try [Int](postgres: row[4])
    post = try Int(postgres: row[5])
    comment = try Int(postgres: row[6])
    count = try Int(postgres: row[7])
    isFollowed = try Bool?(postgres: row[8])
    title = try String?(postgres: row[9])
    picture = try String?(postgres: row[10])
    text = try String?(postgres: row[11])
  }
}
