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
  /// An account in a list; `uid` repeats its id.
  struct ActorView: Encodable, Sendable {
    let uid: Int
    let id: Int
    let username: String
    let name: String
    let major: String
    let avatar: Nullable<String>

    init(_ account: AccountSummary) {
      uid = account.id
      id = account.id
      username = account.username
      name = account.name
      major = account.major
      avatar = Nullable(account.avatar)
    }
  }

  struct PostView: Encodable, Sendable {
    let id: Int
    let title: String
    /// The address of the post's first picture.
    let picture: Nullable<String>
  }

  struct CommentView: Encodable, Sendable {
    let id: Int
    /// The beginning of the text.
    let text: String
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
  let post: PostView?
  let comment: CommentView?
  let count: Int
  let isFollowed: Bool?
  /// A few actors, newest first.
  let actors: [ActorView]

  init(_ item: NotificationItem) {
    id = item.id
    type = Int(item.type.rawValue)
    checked = item.isChecked ? 1 : 0
    creationDate = Int(item.createdAt.timeIntervalSince1970.rounded(.down))
    actors = item.actors.map(ActorView.init)
    uid = item.actors.first?.id ?? 0
    username = Nullable(item.actors.first?.username)
    postId = item.post
    commentId = item.comment
    post =
      if let id = item.post, let title = item.title {
        PostView(
          id: id, title: title, picture: Nullable(item.picture.map { PictureAddress(id: $0, size: .thumb).text }))
      } else { nil }
    comment = if let id = item.comment, let text = item.text { CommentView(id: id, text: text) } else { nil }
    count = item.count
    isFollowed = item.isFollowed
  }
}
