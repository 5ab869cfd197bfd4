#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import HTTPTypes
import Social

/// EventFeed in the form of server-sent events.
///
/// | event | data |
/// |---|---|
/// | `notification` | `{id, type, username, postId?, unread}` |
/// | `comment` | `{id, postId, username, text}` |
/// | `message` | `{id, username, text, createdAt}` |
/// | `lookup` | `{id, state}` |
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
    let text: String
    let createdAt: Date
  }

  private struct LookupData: Encodable {
    let id: String
    let state: String
  }

  /// Said first: how long a client waits before it connects again, in milliseconds.
  static let opening = "retry: 3000\n: listening\n\n"
  static let silence = ": \n\n"

  /// The last of the items bears the cursor: who connects again before it was heard hears all of them again.
  static func text(of items: [EventFeedItem], _ cursor: EventFeedCursor) throws -> String {
    var text = ""
    for (place, item) in items.enumerated() {
      let (name, data) = try form(item)
      text += "event: \(name)\n"
      if place == items.count - 1 { text += "id: \(cursor.text)\n" }
      // JSON has its line ends escaped, so it is one line.
      text += "data: \(data)\n\n"
    }
    return text
  }

  private static func form(_ item: EventFeedItem) throws -> (name: String, data: String) {
    switch item {
    case .notification(let notice):
      let data = NotificationData(
        id: notice.id, type: notice.type.rawValue, username: notice.username, postId: notice.post, unread: notice.unread
      )
      return ("notification", try json(data))
    case .comment(let id, let post, let username, let text):
      return ("comment", try json(CommentData(id: id, postId: post, username: username, text: text)))
    case .message(let id, let username, let text, let createdAt):
      return ("message", try json(MessageData(id: id, username: username, text: text, createdAt: createdAt)))
    case .lookup(let id, let state):
      return ("lookup", try json(LookupData(id: id.uuidString.lowercased(), state: state)))
    }
  }

  private static func json(_ value: some Encodable) throws -> String {
    String(decoding: try Answer(.ok, value).body, as: UTF8.self)
  }
}
