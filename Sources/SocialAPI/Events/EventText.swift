#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import HTTPTypes
import Social

/// Events in the form of server-sent events.
///
/// | event | data |
/// |---|---|
/// | `notification` | `{id, type, username, postId?, unread}` |
/// | `comment` | `{id, postId, username, text}`, on a post of the account's; with `comment`, in a thread that the client has open |
/// | `message` | `{id, username, own, text, createdAt}`; with `own`, sent from another device to `username` |
/// | `read` | `{username, upTo, unread}`: a conversation was read on another device |
/// | `checked` | `{unread}`: notifications were checked on another device |
/// | `lookup` | `{id, state}` |
/// | `celeb` | `{platform, account, title, state}`: YouTube was asked for one of the account's |
/// | `top_ten` | `{platform, account, title, by, window, rank}`: one of the account's celebs, the first time |
/// | `agreement` | `{id, state}`: a meeting or an agreement of the account's has changed |
/// | `comment_deleted` | `{postId, id}` |
/// | `likes` | `{postId, likes, comments}` |
/// | `post_deleted` | `{postId}` |
/// | `reset` | `{}`: too much was missed; read all again |
enum EventText {
  private struct NotificationData: Encodable {
    let id: Int
    let type: Int16
    let username: String
    let postId: Int?
    let unread: Int
  }

  private struct CommentData: Encodable {
    let id: Int
    let postId: Int
    let username: String
    let text: String
  }

  private struct MessageData: Encodable {
    let id: Int
    let username: String
    let own: Bool
    let text: String
    let createdAt: Date
  }

  private struct ReadData: Encodable {
    let username: String
    let upTo: Int
    let unread: Int
  }

  private struct CheckedData: Encodable { let unread: Int }

  private struct LookupData: Encodable {
    let id: String
    let state: String
  }

  private struct CelebData: Encodable {
    let platform: String
    let account: String
    let title: String
    let state: String
  }

  private struct TopTenData: Encodable {
    let platform: String
    let account: String
    let title: String
    let by: String
    let window: String
    let rank: Int
  }

  private struct AgreementData: Encodable {
    let id: Int
    let state: String
  }

  private struct ThreadCommentData: Encodable {
    let id: Int
    let postId: Int
    let username: String
    let text: String
    let comment: CommentView
  }

  private struct RemovedCommentData: Encodable {
    let postId: Int
    let id: Int
  }

  private struct CountsData: Encodable {
    let postId: Int
    let likes: Int
    let comments: Int
  }

  private struct PostData: Encodable { let postId: Int }

  private struct ResetData: Encodable {}

  /// The opening of a stream: how long a client waits before it reconnects, in milliseconds, and from where it resumes
  /// if it loses the connection before the first event.
  static func opening(_ cursor: EventFeedCursor) -> String { "retry: 3000\n\(id(cursor)): listening\n\n" }
  static let silence = ": \n\n"

  /// An event without its id: the same text for all listeners.
  static func text(of item: EventFeedItem) throws -> String {
    let (name, data) = try form(item)
    // JSON escapes line breaks, so the data is one line.
    return "event: \(name)\ndata: \(data)\n\n"
  }

  /// The `id` line before an event; a client that reconnects resumes after it.
  static func id(_ cursor: EventFeedCursor) -> String { "id: \(cursor.text)\n" }

  private static func form(_ item: EventFeedItem) throws -> (name: String, data: String) {
    switch item {
    case .notification(let notice):
      let data = NotificationData(
        id: notice.id, type: notice.type.rawValue, username: notice.username, postId: notice.post, unread: notice.unread
      )
      return ("notification", try json(data))
    case .comment(let id, let post, let username, let text):
      return ("comment", try json(CommentData(id: id, postId: post, username: username, text: text)))
    case .message(let id, let username, let isOwn, let text, let createdAt):
      let data = MessageData(id: id, username: username, own: isOwn, text: text, createdAt: createdAt)
      return ("message", try json(data))
    case .read(let username, let upTo, let unread):
      return ("read", try json(ReadData(username: username, upTo: upTo, unread: unread)))
    case .checked(let unread): return ("checked", try json(CheckedData(unread: unread)))
    case .lookup(let id, let state):
      return ("lookup", try json(LookupData(id: id.uuidString.lowercased(), state: state)))
    case .celeb(let account, let title, let state):
      let data = CelebData(
        platform: account.platform.rawValue, account: account.name, title: title, state: state.rawValue)
      return ("celeb", try json(data))
    case .topTen(let account, let title, let measure, let window, let rank):
      let data = TopTenData(
        platform: account.platform.rawValue, account: account.name, title: title, by: measure.rawValue,
        window: window.rawValue, rank: rank)
      return ("top_ten", try json(data))
    case .agreement(let id, let state): return ("agreement", try json(AgreementData(id: id, state: state)))
    case .threadComment(let comment, let post):
      let data = ThreadCommentData(
        id: comment.id, postId: post, username: comment.author.username, text: comment.text,
        comment: CommentView(comment))
      return ("comment", try json(data))
    case .threadCommentRemoved(let id, let post):
      return ("comment_deleted", try json(RemovedCommentData(postId: post, id: id)))
    case .counts(let counts):
      return ("likes", try json(CountsData(postId: counts.post, likes: counts.likes, comments: counts.comments)))
    case .postRemoved(let post): return ("post_deleted", try json(PostData(postId: post)))
    case .reset: return ("reset", try json(ResetData()))
    }
  }

  private static func json(_ value: some Encodable) throws -> String {
    String(decoding: try Answer(.ok, value).body, as: UTF8.self)
  }
}
