import Foundation

/// What a notification is about. Types are added.
public struct NotificationType: RawRepresentable, Sendable, Hashable, Codable {
  public let rawValue: Int
  public init(rawValue: Int) { self.rawValue = rawValue }

  public static let like = NotificationType(rawValue: 0)
  public static let comment = NotificationType(rawValue: 1)
  public static let follow = NotificationType(rawValue: 2)
}

/// A notification; in a grouped list, all of one type about one post.
public struct NotificationItem: Sendable, Hashable, Codable, Identifiable {
  /// A post in a notification.
  public struct PostSummary: Sendable, Hashable, Codable, Identifiable {
    public var id: Int
    public var title: String
    /// The address of the first picture in size `thumb`, relative to the server; nil if there is none.
    public var picture: String?

    public init(id: Int, title: String, picture: String? = nil) {
      self.id = id
      self.title = title
      self.picture = picture
    }
  }

  /// A comment in a notification.
  public struct CommentSummary: Sendable, Hashable, Codable, Identifiable {
    public var id: Int
    /// The beginning of the text.
    public var text: String

    public init(id: Int, text: String) {
      self.id = id
      self.text = text
    }
  }

  /// Grows with time.
  public var id: Int
  public var type: NotificationType
  public var isChecked: Bool
  /// In whole seconds.
  public var createdAt: Date
  /// The newest actor; nil if the account is deleted.
  public var username: String?
  /// The post that was liked or commented on.
  public var postId: Int?
  public var commentId: Int?
  /// nil once it is deleted.
  public var post: PostSummary?
  public var comment: CommentSummary?
  /// How many accounts acted.
  public var count: Int
  /// Whether the signed-in account follows the actor back; nil unless the notification is a follow.
  public var isFollowed: Bool?
  /// A few of the accounts that acted, the newest first.
  public var actors: [Account]

  public init(
    id: Int, type: NotificationType, isChecked: Bool, createdAt: Date, username: String? = nil, postId: Int? = nil,
    commentId: Int? = nil, post: PostSummary? = nil, comment: CommentSummary? = nil, count: Int,
    isFollowed: Bool? = nil, actors: [Account]
  ) {
    self.id = id
    self.type = type
    self.isChecked = isChecked
    self.createdAt = createdAt
    self.username = username
    self.postId = postId
    self.commentId = commentId
    self.post = post
    self.comment = comment
    self.count = count
    self.isFollowed = isFollowed
    self.actors = actors
  }

  private enum CodingKeys: String, CodingKey {
    case id, type
    case isChecked = "checked"
    case createdAt = "creationDate"
    case username, postId, commentId, post, comment, count, isFollowed, actors
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    id = try container.decode(Int.self, forKey: .id)
    type = try container.decode(NotificationType.self, forKey: .type)
    // The API's numbers: 0 or 1, and seconds since 1970.
    isChecked = try container.decode(Int.self, forKey: .isChecked) != 0
    createdAt = Date(timeIntervalSince1970: TimeInterval(try container.decode(Int.self, forKey: .createdAt)))
    username = try container.decodeIfPresent(String.self, forKey: .username)
    postId = try container.decodeIfPresent(Int.self, forKey: .postId)
    commentId = try container.decodeIfPresent(Int.self, forKey: .commentId)
    post = try container.decodeIfPresent(PostSummary.self, forKey: .post)
    comment = try container.decodeIfPresent(CommentSummary.self, forKey: .comment)
    count = try container.decode(Int.self, forKey: .count)
    isFollowed = try container.decodeIfPresent(Bool.self, forKey: .isFollowed)
    actors = try container.decode([Account].self, forKey: .actors)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(id, forKey: .id)
    try container.encode(type, forKey: .type)
    try container.encode(isChecked ? 1 : 0, forKey: .isChecked)
    try container.encode(Int(createdAt.timeIntervalSince1970), forKey: .createdAt)
    try container.encodeIfPresent(username, forKey: .username)
    try container.encodeIfPresent(postId, forKey: .postId)
    try container.encodeIfPresent(commentId, forKey: .commentId)
    try container.encodeIfPresent(post, forKey: .post)
    try container.encodeIfPresent(comment, forKey: .comment)
    try container.encode(count, forKey: .count)
    try container.encodeIfPresent(isFollowed, forKey: .isFollowed)
    try container.encode(actors, forKey: .actors)
  }
}

/// How many notifications are unread.
public struct UnreadNotifications: Sendable, Hashable, Codable {
  public var unread: Int
  /// Whether the app shows its red dot.
  public var dot: Bool

  public init(unread: Int, dot: Bool) {
    self.unread = unread
    self.dot = dot
  }
}

extension FanmillClient {
  public var notifications: Notifications { Notifications(sender: sender) }

  /// `notifications`: the signed-in account's own.
  public struct Notifications: Sendable {
    let sender: RequestSender

    /// Notifications, newest first.
    ///
    /// - Parameter isGrouped: whether those of one type about one post are one item.
    public func list(isGrouped: Bool = true, limit: Int? = nil) -> Pages<NotificationItem> {
      sender.pages(
        APIRequest(.get, ["notifications"], query: [("grouped", isGrouped ? nil : "false")]), limit: limit)
    }

    public func unread() async throws -> UnreadNotifications {
      try await sender.value(APIRequest(.get, ["notifications", "unread"]))
    }

    private struct UpTo: Encodable { var upTo: Int }
    private struct IDs: Encodable { var ids: [Int] }

    /// Checks everything up to and including a notification. An earlier one than before changes nothing.
    ///
    /// - Returns: what is still unread.
    /// - Throws: `invalid_upTo`.
    @discardableResult
    public func check(upTo id: NotificationItem.ID) async throws -> UnreadNotifications {
      try await sender.value(APIRequest(.post, ["notifications", "checked"], body: UpTo(upTo: id)))
    }

    /// Checks 1 to 1,000 notifications; a group includes everything it contained when it was read. Those that were
    /// deleted meanwhile are skipped.
    ///
    /// - Returns: what is still unread.
    /// - Throws: `not_found` if none is left, `invalid_ids`.
    @discardableResult
    public func check(_ ids: [NotificationItem.ID]) async throws -> UnreadNotifications {
      try await sender.value(APIRequest(.post, ["notifications", "checked"], body: IDs(ids: ids)))
    }
  }
}
