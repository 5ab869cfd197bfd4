import Foundation

/// A new account.
public struct Registration: Sendable, Hashable, Codable {
  /// 1 to 100 letters (a–z), digits, `.`, `_`, `-` or `+`; nil to derive one from the name.
  public var username: String?
  public var email: String
  /// At least 8 characters.
  public var password: String
  public var name: String
  /// The field of study, or whatever the app uses it for.
  public var major: String?
  public var bio: String?
  /// A picture uploaded with an upload token.
  public var avatar: Upload.ID?
  /// States that the owner is an adult, which agreements require and some servers require from everyone.
  public var adult: Bool?

  public init(
    username: String? = nil, email: String, password: String, name: String, major: String? = nil, bio: String? = nil,
    avatar: Upload.ID? = nil, adult: Bool? = nil
  ) {
    self.username = username
    self.email = email
    self.password = password
    self.name = name
    self.major = major
    self.bio = bio
    self.avatar = avatar
    self.adult = adult
  }
}

extension Registration: CustomStringConvertible, CustomReflectable {
  /// Omits the password.
  public var description: String { "Registration(\(username ?? name))" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// An account that has just been opened.
public struct OpenedAccount: Sendable, Hashable, Codable, Identifiable {
  public var id: Int
  public var username: String
  /// Whether the account can sign in; false if the server wants the address confirmed before the first sign-in.
  public var isConfirmed: Bool
  /// nil if the address must be confirmed first.
  public var session: Session?

  public init(id: Int, username: String, isConfirmed: Bool, session: Session? = nil) {
    self.id = id
    self.username = username
    self.isConfirmed = isConfirmed
    self.session = session
  }

  private enum CodingKeys: String, CodingKey {
    case id, username, isConfirmed
    case session = "token"
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    id = try container.decode(Int.self, forKey: .id)
    username = try container.decode(String.self, forKey: .username)
    isConfirmed = try container.decode(Bool.self, forKey: .isConfirmed)
    session = try container.decodeIfPresent(String.self, forKey: .session).map { Session(token: $0) }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(id, forKey: .id)
    try container.encode(username, forKey: .username)
    try container.encode(isConfirmed, forKey: .isConfirmed)
    try container.encodeIfPresent(session?.token, forKey: .session)
  }
}

/// An account in a list or beside a post.
public struct Account: Sendable, Hashable, Codable, Identifiable {
  public var id: Int
  /// Addresses the account in routes: a username, or `~ID` for a deleted account in a conversation.
  public var username: String
  public var name: String
  public var major: String
  /// The address of the picture in size `thumb`, relative to the server; nil if there is none.
  public var avatar: String?

  public init(id: Int, username: String, name: String, major: String, avatar: String? = nil) {
    self.id = id
    self.username = username
    self.name = name
    self.major = major
    self.avatar = avatar
  }
}

extension FanmillClient {
  public var accounts: Accounts { Accounts(sender: sender.signedOut) }

  /// `accounts`, `password-resets`, `email-confirmations`, `account-deletions` and `account-exports`: what needs no
  /// session.
  public struct Accounts: Sendable {
    let sender: RequestSender

    /// Creates an account.
    ///
    /// - Parameter key: repeats a call that has thrown; see ``FanmillClient``. With another key the address is taken.
    /// - Throws: `username_taken`, `email_taken`, `invalid_…`, `invalid_adult` where adults must state to be adults,
    ///   `upload_expired` or `not_found` for the picture, `rate_limited`.
    public func open(_ registration: Registration, key: UUID = UUID()) async throws -> OpenedAccount {
      try await sender.value(APIRequest(.post, ["accounts"], body: registration).keyed(key))
    }

    private struct Address: Encodable { var email: String }

    /// Mails a password reset token to the address. The response does not tell whether an account has the address.
    ///
    /// - Throws: `mail_not_configured`, `too_many_attempts`.
    public func requestPasswordReset(email: String) async throws {
      try await sender.send(APIRequest(.post, ["password-resets"], body: Address(email: email)))
    }

    private struct Choice: Encodable { var password: String }

    /// Sets a new password and ends all sessions of the account.
    ///
    /// - Parameter token: from the mail.
    /// - Throws: `reset_expired`, `invalid_password`, `too_many_attempts`.
    public func resetPassword(token: String, to password: String) async throws {
      try await sender.send(APIRequest(.post, ["password-resets", token], body: Choice(password: password)))
    }

    /// Mails the token that confirms an address again.
    ///
    /// - Throws: `mail_not_configured`, `too_many_attempts`.
    public func requestEmailConfirmation(email: String) async throws {
      try await sender.send(APIRequest(.post, ["email-confirmations"], body: Address(email: email)))
    }

    /// Confirms an address.
    ///
    /// - Parameter token: from the mail.
    /// - Throws: `confirmation_expired`, `email_taken`, `too_many_attempts`.
    public func confirmEmail(token: String) async throws {
      try await sender.send(APIRequest(.post, ["email-confirmations", token]))
    }

    /// Deletes the account of an owner without a password.
    ///
    /// - Parameter token: from the mail.
    /// - Throws: `confirmation_expired`, `too_many_attempts`.
    public func confirmDeletion(token: String) async throws {
      try await sender.send(APIRequest(.post, ["account-deletions", token]))
    }

    /// Fetches the file that ``Me/requestExport()`` asked for: a zip archive of JSON and pictures. The whole file is in
    /// memory; a browser can open the link in the mail instead.
    ///
    /// - Parameter token: from the mail; valid for seven days.
    /// - Throws: `not_found`, `too_many_attempts`.
    public func export(token: String) async throws -> Data {
      // The token is the file's key, and a bucket must not get another.
      let request = TransportRequest(
        method: "GET", url: try RequestTarget.url(sender.url, ["v1", "account-exports", token], []),
        headers: ["User-Agent": sender.userAgent, "Accept": "application/zip"], timeout: Self.patience)
      return try await sender.fetch(request).body
    }

    /// Long enough for a transport that limits the time of a whole response.
    private static let patience = Duration.seconds(600)
  }

  /// Creates an account and signs in.
  ///
  /// - Returns: a client with the new account's session; without one if the address must be confirmed first.
  /// - Throws: what ``Accounts/open(_:key:)`` throws.
  public func signUp(_ registration: Registration, key: UUID = UUID()) async throws -> FanmillClient {
    let opened = try await accounts.open(registration, key: key)
    return opened.session.map { signedIn(with: $0) } ?? signedOut
  }
}
