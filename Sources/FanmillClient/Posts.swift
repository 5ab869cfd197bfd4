import Foundation

/// A post.
public struct Post: Sendable, Hashable, Codable, Identifiable {
  /// Grows with time.
  public var id: Int
  public var author: Account
  public var title: String
  public var description: String
  public var media: [Picture]
  /// The address of the first picture in size `feed`, relative to the server; nil if there is none.
  public var image: String?
  public var createdAt: Date
  /// nil if it was never edited.
  public var editedAt: Date?
  public var likes: Int
  public var comments: Int
  /// Whether the signed-in account likes it.
  public var isLiked: Bool
  /// Whether the signed-in account wrote it.
  public var isMine: Bool

  public init(
    id: Int, author: Account, title: String, description: String, media: [Picture], image: String? = nil,
    createdAt: Date, editedAt: Date? = nil, likes: Int, comments: Int, isLiked: Bool, isMine: Bool
  ) {
    self.id = id
    self.author = author
    self.title = title
    self.description = description
    self.media = media
    self.image = image
    self.createdAt = createdAt
    self.editedAt = editedAt
    self.likes = likes
    self.comments = comments
    self.isLiked = isLiked
    self.isMine = isMine
  }
}

/// A new post.
public struct PostDraft: Sendable, Hashable, Codable {
  public var title: String
  public var description: String
  /// Up to ten of the author's uploads, in the order in which they are shown.
  public var media: [Upload.ID]

  public init(title: String, description: String = "", media: [Upload.ID] = []) {
    self.title = title
    self.description = description
    self.media = media
  }
}

/// Changes of a post. Fields that are nil stay as they are.
public struct PostChanges: Sendable, Hashable, Codable {
  public var title: String?
  public var description: String?
  /// Replaces all pictures; an empty list removes them.
  public var media: [Upload.ID]?

  public init(title: String? = nil, description: String? = nil, media: [Upload.ID]? = nil) {
    self.title = title
    self.description = description
    self.media = media
  }
}

/// How far a post has come into its author's followers' feeds.
public struct FanOut: Sendable, Hashable, Codable {
  /// How the post reaches feeds.
  public struct Mode: OpenValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Written into each follower's feed.
    public static let push = Mode(rawValue: "push")
    /// Added when a feed is read: the author has very many followers.
    public static let pull = Mode(rawValue: "pull")
  }

  public var mode: Mode
  /// The followers to deliver to.
  public var followers: Int
  /// The feeds that have it.
  public var delivered: Int
  public var done: Bool
  public var startedAt: Date?
  public var finishedAt: Date?

  public init(mode: Mode, followers: Int, delivered: Int, done: Bool, startedAt: Date? = nil, finishedAt: Date? = nil) {
    self.mode = mode
    self.followers = followers
    self.delivered = delivered
    self.done = done
    self.startedAt = startedAt
    self.finishedAt = finishedAt
  }
}

extension FanmillClient {
  public var posts: Posts { Posts(sender: sender) }

  /// `posts`.
  public struct Posts: Sendable {
    let sender: RequestSender

    /// - Parameter key: repeats a call that has thrown; see ``FanmillClient``.
    /// - Throws: `invalid_title`, `invalid_description`, `invalid_media`, `not_found` for a picture, `rate_limited`.
    public func create(_ draft: PostDraft, key: UUID = UUID()) async throws -> Post {
      try await sender.value(APIRequest(.post, ["posts"], body: draft).keyed(key))
    }

    /// - Throws: `not_found`.
    public func post(_ id: Post.ID) async throws -> Post {
      try await sender.value(APIRequest(.get, ["posts", String(id)]))
    }

    /// - Throws: `not_yours`, `not_found`, `invalid_…`.
    @discardableResult
    public func edit(_ id: Post.ID, _ changes: PostChanges) async throws -> Post {
      try await sender.value(APIRequest(.patch, ["posts", String(id)], body: changes))
    }

    /// - Throws: `not_yours`, `not_found`.
    public func delete(_ id: Post.ID) async throws {
      try await sender.send(APIRequest(.delete, ["posts", String(id)]))
    }

    /// Posts that contain each word of the query in their title or the first 500 characters of their description.
    ///
    /// - Parameter query: up to 100 characters; empty for the newest posts.
    /// - Returns: newest first, without those of muted accounts.
    public func search(_ query: String, limit: Int? = nil) -> Pages<Post> {
      sender.pages(APIRequest(.get, ["posts"], query: [("query", query)]), limit: limit)
    }

    /// How far a post has come into its followers' feeds.
    ///
    /// - Throws: `not_found`.
    public func fanOut(of id: Post.ID) async throws -> FanOut {
      try await sender.value(APIRequest(.get, ["posts", String(id), "fan-out"]))
    }
  }
}
