#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Social

struct CommentView: Encodable, Sendable {
  let id: Int
  let author: AccountView
  let text: String
  let createdAt: Date

  init(_ comment: Comment) {
    id = comment.id
    author = AccountView(comment.author)
    text = comment.text
    createdAt = comment.createdAt
  }
}

struct NotificationView: Encodable, Sendable {
  struct ActorView: Encodable, Sendable {
    let uid: Int
    let username: Nullable<String>
  }

  let id: Int
  /// 0 like, 1 comment, 2 follow.
  let type: Int
  /// 0 or 1.
  let checked: Int
  /// Seconds since 1970.
  let creationDate: Int
  /// The newest actor.
  let uid: Int
  let username: Nullable<String>
  let postId: Int?
  let commentId: Int?
  let count: Int
  let isFollowed: Bool?
  /// The newest first, a few.
  let actors: [ActorView]

  init(_ item: NotificationItem) {
    id = item.id
    type = Int(item.type.rawValue)
    checked = item.isChecked ? 1 : 0
    creationDate = Int(item.createdAt.timeIntervalSince1970.rounded(.down))
    actors = item.actors.map { ActorView(uid: $0.id, username: Nullable($0.username)) }
    uid = item.actors.first?.id ?? 0
    username = Nullable(item.actors.first?.username)
    postId = item.post
    commentId = item.comment
    count = item.count
    isFollowed = item.isFollowed
  }
}
