import Foundation

/// The signed-in account, as its owner sees it.
public struct OwnProfile: Sendable, Hashable, Codable, Identifiable {
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
  /// nil for an imported account.
  public var email: String?
  /// Whether the owner has stated that they are an adult.
  public var adult: Bool

  public init(
    id: Int, username: String, name: String, major: String, bio: String, avatar: String? = nil, posts: Int,
    followers: Int, following: Int, email: String? = nil, adult: Bool
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
    self.email = email
    self.adult = adult
  }
}

/// Changes to the signed-in account's profile. Fields that are nil stay as they are.
public struct ProfileChanges: Sendable, Hashable, Encodable {
  /// A change of the picture.
  public enum Avatar: Sendable, Hashable {
    case remove
    /// One of the account's uploads.
    case set(Upload.ID)
  }

  /// The former username stays reserved for its owner for 30 days.
  public var username: String?
  public var name: String?
  public var major: String?
  public var bio: String?
  public var avatar: Avatar?
  public var adult: Bool?

  public init(
    username: String? = nil, name: String? = nil, major: String? = nil, bio: String? = nil, avatar: Avatar? = nil,
    adult: Bool? = nil
  ) {
    self.username = username
    self.name = name
    self.major = major
    self.bio = bio
    self.avatar = avatar
    self.adult = adult
  }

  private enum CodingKeys: CodingKey { case username, name, major, bio, avatar, adult }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(username, forKey: .username)
    try container.encodeIfPresent(name, forKey: .name)
    try container.encodeIfPresent(major, forKey: .major)
    try container.encodeIfPresent(bio, forKey: .bio)
    try container.encodeIfPresent(adult, forKey: .adult)
    switch avatar {
    case nil: break
    case .remove: try container.encodeNil(forKey: .avatar)
    case .set(let id): try container.encode(id, forKey: .avatar)
    }
  }
}

/// A message from the operators about the account or its content.
public struct OperatorNotice: Sendable, Hashable, Codable, Identifiable {
  /// What the operators did.
  public struct Action: OpenValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let takenDown = Action(rawValue: "taken_down")
    public static let restored = Action(rawValue: "restored")
    public static let suspended = Action(rawValue: "suspended")
    public static let reopened = Action(rawValue: "reopened")
  }

  public var id: Int
  public var action: Action
  /// What it is about, such as `post/12`.
  public var subject: String
  public var reason: String
  public var createdAt: Date

  public init(id: Int, action: Action, subject: String, reason: String, createdAt: Date) {
    self.id = id
    self.action = action
    self.subject = subject
    self.reason = reason
    self.createdAt = createdAt
  }
}

/// The result of a call that is done at once, or confirmed by mail.
public enum Confirmation: Sendable, Hashable {
  case done
  /// A mail with a token is on its way.
  case mailed
}

extension FanmillClient {
  public var me: Me { Me(sender: sender) }

  /// `me`: the signed-in account.
  public struct Me: Sendable {
    let sender: RequestSender

    public func profile() async throws -> OwnProfile { try await sender.value(APIRequest(.get, ["me"])) }

    /// - Throws: `username_taken`, `too_many_usernames`, `invalid_…`, `not_found` for the picture.
    @discardableResult
    public func change(_ changes: ProfileChanges) async throws -> OwnProfile {
      try await sender.value(APIRequest(.patch, ["me"], body: changes))
    }

    private struct PasswordChange: Encodable {
      var old: String
      var new: String
    }

    /// Changes the password and ends all other sessions.
    ///
    /// - Throws: `wrong_password`, `invalid_password`, `too_many_attempts`, `busy`.
    public func changePassword(from old: String, to new: String) async throws {
      // After a change whose response was lost, the old password would be wrong.
      try await sender.send(
        APIRequest(.put, ["me", "password"], body: PasswordChange(old: old, new: new), repetition: .refusedOnly))
    }

    private struct EmailChange: Encodable {
      var email: String
      var password: String?
    }

    /// Mails a token to a new address, which ``Accounts/confirmEmail(token:)`` accepts for a day.
    ///
    /// - Parameter password: nil for an account without one.
    /// - Throws: `wrong_password`, `invalid_email`, `mail_not_configured`, `too_many_attempts`.
    public func changeEmail(to email: String, password: String?) async throws {
      try await sender.send(
        APIRequest(
          .put, ["me", "email"], body: EmailChange(email: email, password: password), repetition: .refusedOnly))
    }

    private struct Deletion: Encodable { var password: String? }

    /// Deletes the account for good.
    ///
    /// - Parameter password: nil for an account without one, whose owner confirms by mail.
    /// - Throws: `wrong_password`, `no_password`, `mail_not_configured`, `too_many_attempts`.
    @discardableResult
    public func delete(password: String?) async throws -> Confirmation {
      // Without a password a repeated request could send a second mail.
      var request = APIRequest(
        .delete, ["me"], body: Deletion(password: password), repetition: password == nil ? .refusedOnly : .safe)
      // The session ends with the account.
      request.done = [.notSignedIn]
      let response = try await sender.send(request)
      return response.status == 202 ? .mailed : .done
    }

    /// Has a file made of all that the account has, and a link to it mailed. ``Accounts/export(token:)`` fetches it.
    ///
    /// - Throws: `no_email`, `mail_not_configured`, `too_many_attempts`.
    public func requestExport() async throws {
      try await sender.send(APIRequest(.post, ["me", "export"]))
    }

    /// The accounts that the account blocks, the latest first.
    public func blocks(limit: Int? = nil) -> Pages<RestrictedAccount> {
      sender.pages(APIRequest(.get, ["me", "blocks"]), limit: limit)
    }

    /// The accounts that the account mutes, the latest first.
    public func mutes(limit: Int? = nil) -> Pages<RestrictedAccount> {
      sender.pages(APIRequest(.get, ["me", "mutes"]), limit: limit)
    }

    /// Notices from the operators, newest first.
    public func notices(limit: Int? = nil) -> Pages<OperatorNotice> {
      sender.pages(APIRequest(.get, ["me", "notices"]), limit: limit)
    }
  }
}
