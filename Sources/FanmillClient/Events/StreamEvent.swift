import Foundation

/// An event of the account's stream.
public struct StreamEvent: Sendable, Hashable {
  /// The place in the stream up to and including this event. A stream opened with it continues after the event. Nil
  /// until the server has named one.
  public let id: String?
  public let kind: Kind

  /// What happened. Kinds are added: a `switch` needs a `default`.
  public enum Kind: Sendable, Hashable {
    /// The stream is open. Read the lists now: whatever they lack will come as an event. With `resumed`, the stream
    /// goes on where it was lost, and nothing was missed.
    case connected(resumed: Bool)
    /// Another account liked or commented on a post of the account, or followed it.
    case notification(Notification)
    /// A comment on a post of the account, with its notification; or, with ``Comment/comment``, on an open post. Both come
    /// for an open post of the account.
    case comment(Comment)
    /// A message to the account, or from it and another device.
    case message(Message)
    /// A conversation was read on another device.
    case read(Read)
    /// Notifications were checked on another device. The value is how many are left.
    case checked(unread: Int)
    /// A lookup of the account has ended.
    case lookup(Lookup)
    /// YouTube answered for one of the account's celebs.
    case celeb(Celeb)
    /// One of the account's celebs entered the top ten of a ranking for the first time ever.
    case topTen(TopTen)
    /// A meeting or an agreement of the account changed.
    case agreement(Agreement)
    /// A comment was removed from an open post.
    case commentRemoved(CommentRemoved)
    /// The counts of an open post: at the beginning, and after changes, at most twice a second.
    case counts(Counts)
    /// An open post was deleted, or does not exist.
    case postRemoved(post: Int)
    /// The client missed more than the server keeps: reload everything.
    case reset
    /// An event that this client does not know, or not in this shape, with its JSON.
    case other(name: String, data: String)
  }

  public struct Notification: Sendable, Hashable, Codable {
    /// The id in the list of notifications, ungrouped.
    public var id: Int
    public var type: NotificationType
    public var username: String
    /// The post that was liked or commented on.
    public var postId: Int?
    /// How many notifications are unread, with this one.
    public var unread: Int

    public init(id: Int, type: NotificationType, username: String, postId: Int? = nil, unread: Int) {
      self.id = id
      self.type = type
      self.username = username
      self.postId = postId
      self.unread = unread
    }
  }

  public struct Comment: Sendable, Hashable, Codable {
    public var id: Int
    public var postId: Int
    public var username: String
    public var text: String
    /// The whole comment, if it was added to an open post.
    public var comment: PostComment?

    public init(id: Int, postId: Int, username: String, text: String, comment: PostComment? = nil) {
      self.id = id
      self.postId = postId
      self.username = username
      self.text = text
      self.comment = comment
    }
  }

  public struct Message: Sendable, Hashable, Codable {
    public var id: Int
    /// The other party of the conversation.
    public var username: String
    /// Whether the account sent it, from another device.
    public var own: Bool
    public var text: String
    public var createdAt: Date

    public init(id: Int, username: String, own: Bool, text: String, createdAt: Date) {
      self.id = id
      self.username = username
      self.own = own
      self.text = text
      self.createdAt = createdAt
    }
  }

  public struct Read: Sendable, Hashable, Codable {
    /// The other party of the conversation.
    public var username: String
    /// The id of the last message that was read.
    public var upTo: Int
    /// How many messages are unread in all conversations.
    public var unread: Int

    public init(username: String, upTo: Int, unread: Int) {
      self.username = username
      self.upTo = upTo
      self.unread = unread
    }
  }

  public struct Lookup: Sendable, Hashable, Codable {
    public var id: String
    public var state: LookupState

    public init(id: String, state: LookupState) {
      self.id = id
      self.state = state
    }
  }

  public struct Celeb: Sendable, Hashable, Codable {
    public var platform: Platform
    public var account: String
    public var title: String
    public var state: CelebState

    public init(platform: Platform, account: String, title: String, state: CelebState) {
      self.platform = platform
      self.account = account
      self.title = title
      self.state = state
    }
  }

  public struct TopTen: Sendable, Hashable, Codable {
    public var platform: Platform
    public var account: String
    public var title: String
    public var by: RankingMeasure
    public var window: RankingWindow
    public var rank: Int

    public init(
      platform: Platform, account: String, title: String, by: RankingMeasure, window: RankingWindow, rank: Int
    ) {
      self.platform = platform
      self.account = account
      self.title = title
      self.by = by
      self.window = window
      self.rank = rank
    }
  }

  public struct Agreement: Sendable, Hashable, Codable {
    /// The id of the meeting, and of the agreement that comes from it.
    public var id: Int
    /// `open`, `joined`, `sealed`, `ended` or `withdrawn`.
    public var state: MeetingState

    public init(id: Int, state: MeetingState) {
      self.id = id
      self.state = state
    }
  }

  public struct CommentRemoved: Sendable, Hashable, Codable {
    public var postId: Int
    /// The id of the comment.
    public var id: Int

    public init(postId: Int, id: Int) {
      self.postId = postId
      self.id = id
    }
  }

  public struct Counts: Sendable, Hashable, Codable {
    public var postId: Int
    public var likes: Int
    public var comments: Int

    public init(postId: Int, likes: Int, comments: Int) {
      self.postId = postId
      self.likes = likes
      self.comments = comments
    }
  }
}

extension StreamEvent {
  private struct Unread: Decodable { var unread: Int }
  private struct Removed: Decodable { var postId: Int }

  init(_ event: EventParser.Event) {
    id = event.lastID
    do { kind = try Self.kind(event.name, Data(event.data.utf8)) } catch {
      // A newer server's event must not end the stream of an older client.
      kind = .other(name: event.name, data: event.data)
    }
  }

  init(id: String?, _ kind: Kind) {
    self.id = id
    self.kind = kind
  }

  private static func kind(_ name: String, _ data: Data) throws -> Kind {
    func value<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
      try APICoding.decoder.decode(type, from: data)
    }
    return switch name {
    case "notification": .notification(try value())
    case "comment": .comment(try value())
    case "message": .message(try value())
    case "read": .read(try value())
    case "checked": .checked(unread: try value(Unread.self).unread)
    case "lookup": .lookup(try value())
    case "celeb": .celeb(try value())
    case "top_ten": .topTen(try value())
    case "agreement": .agreement(try value())
    case "comment_deleted": .commentRemoved(try value())
    case "likes": .counts(try value())
    case "post_deleted": .postRemoved(post: try value(Removed.self).postId)
    case "reset": .reset
    default: .other(name: name, data: String(decoding: data, as: UTF8.self))
    }
  }
}
