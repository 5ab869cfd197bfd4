import Foundation

/// A session of an account. Its token is the account's key: keep it where the platform keeps secrets.
///
/// Descriptions, mirrors and dumps of a session omit the token.
public struct Session: Sendable, Hashable, Codable {
  /// The bearer token.
  public let token: String

  public init(token: String) { self.token = token }
}

extension Session: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "Session(…)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A session in the list of the account's sessions.
public struct SessionSummary: Sendable, Hashable, Codable, Identifiable {
  /// Distinguishes it from the account's other sessions; grants no access.
  public var id: String
  /// The program that opened it, its `User-Agent`; nil if unknown.
  public var client: String?
  /// The network it was opened from: the first 24 bits of IPv4, the first 48 of IPv6; nil if unknown.
  public var network: String?
  public var createdAt: Date
  public var expiresAt: Date
  /// Whether it is the session of the request.
  public var isCurrent: Bool

  public init(
    id: String, client: String? = nil, network: String? = nil, createdAt: Date, expiresAt: Date, isCurrent: Bool
  ) {
    self.id = id
    self.client = client
    self.network = network
    self.createdAt = createdAt
    self.expiresAt = expiresAt
    self.isCurrent = isCurrent
  }
}

extension FanmillClient {
  /// The account's sessions.
  public var sessions: Sessions { Sessions(sender: sender) }

  /// `sessions` and `me/sessions`.
  public struct Sessions: Sendable {
    let sender: RequestSender

    private struct Credentials: Encodable {
      var email: String
      var password: String
    }

    /// Opens a session. ``FanmillClient/signIn(email:password:)`` returns a client with it.
    ///
    /// - Throws: `wrong_credentials`, `email_not_confirmed`, `account_suspended`, `too_many_attempts`.
    public func open(email: String, password: String) async throws -> Session {
      // The server cannot send a token twice, so a repeated request would open a second session. It is harmless.
      try await sender.signedOut.value(
        APIRequest(.post, ["sessions"], body: Credentials(email: email, password: password), repetition: .safe))
    }

    /// The account's newest 100 sessions, newest first.
    public func list() async throws -> [SessionSummary] {
      try await sender.items(APIRequest(.get, ["me", "sessions"]))
    }

    /// Ends the session of this client. A session that has already ended is no error.
    public func closeCurrent() async throws {
      do {
        try await sender.send(APIRequest(.delete, ["sessions", "current"]))
      } catch let error as FanmillError where error.code == .notSignedIn && sender.session != nil {}
    }

    /// Ends one of the account's sessions.
    ///
    /// - Throws: `not_found`.
    public func close(_ id: SessionSummary.ID) async throws {
      try await sender.send(APIRequest(.delete, ["me", "sessions", id]))
    }

    /// Ends all of the account's sessions except the one of this client.
    public func closeOthers() async throws { try await sender.send(APIRequest(.delete, ["me", "sessions"])) }
  }
}
