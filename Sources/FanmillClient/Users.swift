import Foundation

/// An account's profile.
public struct Profile: Sendable, Hashable, Codable, Identifiable {
  public var id: Int
  public var username: String
  public var name: String
  public var major: String
  public var bio: String
  /// The address of the picture in size `thumb`, relative to the server; nil if there is none.
  public var avatar: String?
  public var posts: Int
  public var followers: Int
  public var following: Int
  /// Whether the signed-in account follows it.
  public var isFollowed: Bool
  /// Whether the signed-in account mutes it.
  public var isMuted: Bool

  public init(
    id: Int, username: String, name: String, major: String, bio: String, avatar: String? = nil, posts: Int,
    followers: Int, following: Int, isFollowed: Bool, isMuted: Bool
  ) {
    self.id = id
    self.username = username
    self.name = name
    self.major = major
    self.bio = bio
    self.avatar = avatar
    self.posts = posts
    self.followers = followers
    self.following = following
    self.isFollowed = isFollowed
    self.isMuted = isMuted
  }
}

/// An account in a list of accounts.
public struct ListedAccount: Sendable, Hashable, Codable, Identifiable {
  public var id: Int
  public var username: String
  public var name: String
  public var major: String
  /// The address of the picture in size `thumb`, relative to the server; nil if there is none.
  public var avatar: String?
  /// Whether the signed-in account follows it.
  public var isFollowed: Bool

  public init(id: Int, username: String, name: String, major: String, avatar: String? = nil, isFollowed: Bool) {
    self.id = id
    self.username = username
    self.name = name
    self.major = major
    self.avatar = avatar
    self.isFollowed = isFollowed
  }
}

/// A blocked or muted account.
public struct RestrictedAccount: Sendable, Hashable, Codable, Identifiable {
  public var id: Int
  public var username: String
  public var name: String
  public var major: String
  /// The address of the picture in size `thumb`, relative to the server; nil if there is none.
  public var avatar: String?
  public var since: Date

  public init(id: Int, username: String, name: String, major: String, avatar: String? = nil, since: Date) {
    self.id = id
    self.username = username
    self.name = name
    self.major = major
    self.avatar = avatar
    self.since = since
  }
}

extension FanmillClient {
  public var users: Users { Users(sender: sender) }

  /// `users`: profiles, search, follows, blocks and mutes.
  ///
  /// Accounts are addressed by username. A former username works for 30 days. Each call throws `not_found` for an
  /// account that does not exist, blocks the signed-in one, or is blocked by it.
  public struct Users: Sendable {
    let sender: RequestSender

    public func profile(_ username: String) async throws -> Profile {
      try await sender.value(APIRequest(.get, ["users", username]))
    }

    /// Accounts that contain each word of the query in username, name or major, never the signed-in one.
    ///
    /// - Parameters:
    ///   - query: up to 100 characters; empty for the newest accounts.
    ///   - limit: the most items of a page, from 1 to 100; nil for 20.
    /// - Returns: exact matches first, then those that start with the query, then the others.
    public func search(_ query: String, limit: Int? = nil) -> Pages<ListedAccount> {
      sender.pages(APIRequest(.get, ["users"], query: [("query", query)]), limit: limit)
    }

    /// Follows an account. May be repeated.
    ///
    /// - Throws: `cannot_follow_yourself`, `not_found`, `rate_limited`.
    public func follow(_ username: String) async throws { try await set(username, "follow") }

    public func unfollow(_ username: String) async throws { try await clear(username, "follow") }

    /// Hides the two accounts from each other and removes follows between them.
    ///
    /// - Throws: `cannot_block_yourself`, `not_found`.
    public func block(_ username: String) async throws { try await set(username, "block") }

    public func unblock(_ username: String) async throws { try await clear(username, "block") }

    /// Hides an account's activity from the signed-in one's feeds, threads, notifications and events.
    public func mute(_ username: String) async throws { try await set(username, "mute") }

    public func unmute(_ username: String) async throws { try await clear(username, "mute") }

    private func set(_ username: String, _ relation: String) async throws {
      try await sender.send(APIRequest(.put, ["users", username, relation]))
    }

    private func clear(_ username: String, _ relation: String) async throws {
      try await sender.send(APIRequest(.delete, ["users", username, relation]))
    }

    /// The accounts that follow an account, the latest first.
    public func followers(of username: String, limit: Int? = nil) -> Pages<ListedAccount> {
      sender.pages(APIRequest(.get, ["users", username, "followers"]), limit: limit)
    }

    /// The accounts that an account follows, the latest first.
    public func following(_ username: String, limit: Int? = nil) -> Pages<ListedAccount> {
      sender.pages(APIRequest(.get, ["users", username, "following"]), limit: limit)
    }

    /// An account's posts, newest first.
    public func posts(of username: String, limit: Int? = nil) -> Pages<Post> {
      sender.pages(APIRequest(.get, ["users", username, "posts"]), limit: limit)
    }
  }
}
