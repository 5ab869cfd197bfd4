import Foundation

/// A client of the Fanmill HTTP API.
///
/// A client is a value: it holds the server's address and, once signed in, a session. Signing in returns another
/// client and leaves this one as it is.
///
/// ```swift
/// let client = try await FanmillClient(url: url).signIn(email: email, password: password)
/// let post = try await client.posts.create(PostDraft(title: "Sunrise"))
/// for try await post in client.feed.following() { print(post.title) }
/// ```
///
/// Every call throws ``FanmillError`` if the server refuses it or cannot be reached, and `CancellationError` if its
/// task is cancelled. Calls without a session that need one throw ``FanmillError/Code/notSignedIn``.
///
/// A call that throws for want of an answer may have taken effect. What creates something has a `key`: repeated with
/// the same key within a day, the call does it once, and returns what the first one would have.
public struct FanmillClient: Sendable {
  let sender: RequestSender

  /// - Parameters:
  ///   - url: the server, such as `https://api.example.org`; a path in front of `/v1` is kept.
  ///   - session: the session of an earlier sign-in; nil for a client that is not signed in.
  ///   - transport: sends the requests.
  ///   - retries: which failures are retried, and when.
  ///   - userAgent: the program and its version, which the account's owner sees in the list of sessions.
  ///   - clock: times retries and reconnects.
  public init(
    url: URL, session: Session? = nil, transport: any Transport = URLSessionTransport(),
    retries: RetryPolicy = .standard, userAgent: String = "FanmillClient",
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    sender = RequestSender(
      url: url, session: session, transport: transport, retries: retries, userAgent: userAgent, clock: clock)
  }

  init(sender: RequestSender) { self.sender = sender }

  /// The session; nil for a client that is not signed in.
  public var session: Session? { sender.session }

  /// The server's address.
  public var url: URL { sender.url }

  /// The same client with a session, such as a stored one.
  public func signedIn(with session: Session) -> FanmillClient { FanmillClient(sender: sender.with(session)) }

  /// The same client without its session. The session goes on: ``signOut()`` ends it.
  public var signedOut: FanmillClient { FanmillClient(sender: sender.with(nil)) }

  /// Opens a session with `POST /v1/sessions`.
  ///
  /// - Returns: a client with the session.
  /// - Throws: `wrong_credentials`, `email_not_confirmed`, `account_suspended`, `too_many_attempts`.
  public func signIn(email: String, password: String) async throws -> FanmillClient {
    signedIn(with: try await sessions.open(email: email, password: password))
  }

  /// Ends the session with `DELETE /v1/sessions/current`.
  ///
  /// - Returns: a client without a session.
  @discardableResult
  public func signOut() async throws -> FanmillClient {
    try await sessions.closeCurrent()
    return signedOut
  }
}

extension FanmillClient: CustomStringConvertible, CustomReflectable {
  public var description: String {
    "FanmillClient(\(RequestTarget.shown(url)), \(session == nil ? "signed out" : "signed in"))"
  }

  public var customMirror: Mirror { Mirror(self, children: []) }
}
