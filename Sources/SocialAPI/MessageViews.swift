#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Social

/// A message as one of its two participants sees it.
struct MessageView: Encodable, Sendable {
  let id: Int
  /// Whether the viewer wrote it.
  let own: Bool
  let text: String
  let createdAt: Date

  init(_ message: Message) {
    id = message.id
    own = message.isOwn
    text = message.text
    createdAt = message.createdAt
  }
}

/// A conversation in a list.
struct ConversationView: Encodable, Sendable {
  let with: AccountView
  let last: MessageView
  let unread: Int

  init(_ conversation: Conversation) {
    with = AccountView(conversation.peer)
    last = MessageView(conversation.last)
    unread = conversation.unread
  }
}
