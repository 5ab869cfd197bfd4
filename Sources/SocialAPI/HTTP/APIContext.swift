import DurableJobsAdmin
import Hummingbird
import NIOCore
import Social

/// The state of a request, including its session once known.
public struct APIContext: RequestContext, Sendable {
  public var coreContext: CoreRequestContextStorage
  /// The session's token and account; nil without a session.
  var session: Session?
  /// The token of a cookie session, not yet resolved; nil if the request carries none that counts.
  var cookieToken: String?
  /// The bearer's rights on operators' routes; nil unless the request carries an operators' token.
  var operatorRole: Operator.Role?
  /// The client's connection.
  let channel: any NIOCore.Channel
  /// The connection's other end. A closed channel no longer knows it.
  private let peer: SocketAddress?
  /// The proxies trusted to name a request's origin.
  var proxies = TrustedProxies.none
  /// The request's `X-Forwarded-For`.
  var forwarded: [String] = []

  struct Session: Sendable {
    let token: SessionToken
    let viewer: Sessions.Viewer
  }

  public init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    let channel = source.channel
    self.channel = channel
    peer = channel.remoteAddress
  }

  /// The request's origin, for rate limits. Most requests do not need it.
  var client: ClientAddress { proxies.client(peer: peer?.ipAddress, forwarded: forwarded) }

  /// The largest accepted body, in bytes.
  public var maxUploadSize: Int { 1 << 20 }

  static var notSignedIn: SocialError {
    SocialError(.notSignedIn, "sign in with POST /v1/sessions and send its token as 'Authorization: Bearer TOKEN'")
  }

  /// The signed-in account.
  ///
  /// - Throws: `not_signed_in`.
  var viewer: Sessions.Viewer {
    get throws(SocialError) { try signedIn.viewer }
  }

  /// - Throws: `not_signed_in`.
  var signedIn: Session {
    get throws(SocialError) {
      guard let session else { throw cookieToken == nil ? Self.notSignedIn : Sessions.ended }
      return session
    }
  }

  /// - Throws: a problem unless the request carries the token with write access.
  func requireAdmin() throws {
    switch operatorRole {
    case .full: return
    case .readOnly:
      throw Problem(
        .forbidden, "read_only", "FANMILL_ADMIN_READ_TOKEN is read-only: send FANMILL_ADMIN_TOKEN")
    case nil: throw notAnOperator("the admin token (FANMILL_ADMIN_TOKEN of the API)")
    }
  }

  /// - Throws: a problem unless the request carries an operators' token.
  func requireOperator() throws {
    guard operatorRole == nil else { return }
    throw notAnOperator("FANMILL_ADMIN_READ_TOKEN or FANMILL_ADMIN_TOKEN of the API")
  }

  private func notAnOperator(_ tokens: String) -> Problem {
    guard session == nil else {
      return Problem(.forbidden, "admin_only", "this route is for operators: send the admin token")
    }
    return Problem(.unauthorized, "not_signed_in", "send \(tokens) as 'Authorization: Bearer TOKEN'")
  }

  /// A path parameter.
  func parameter(_ name: String) throws -> String {
    try parameters.require(name)
  }

  /// The post id in the path.
  ///
  /// - Throws: `not_found` for text that cannot be an id.
  func postID() throws -> Int {
    guard let id = EntityID.parse(try parameter("id")) else {
      throw SocialError(.notFound, "there is no such post")
    }
    return id
  }
}
