import DurableJobsAdmin
import Hummingbird
import NIOCore
import Social

/// What a request carries along: who asks, once that is known.
public struct APIContext: RequestContext, Sendable {
  public var coreContext: CoreRequestContextStorage
  /// The session's token and its account; nil without one.
  var session: Session?
  /// What the request may do for operators; nil unless it came with one of their tokens.
  var operatorRole: Operator.Role?
  /// The client's connection.
  let channel: any NIOCore.Channel
  /// The other end of the connection; nil for a socket of this machine.
  let peer: String?
  /// Where the request comes from, for counting what is asked for.
  var client: ClientAddress

  struct Session: Sendable {
    let token: SessionToken
    let viewer: Sessions.Viewer
  }

  public init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    let channel = source.channel
    self.channel = channel
    peer = channel.remoteAddress?.ipAddress
    client = ClientAddress(peer)
  }

  /// The largest body that is read, in bytes.
  public var maxUploadSize: Int { 1 << 20 }

  static var notSignedIn: SocialError {
    SocialError(.notSignedIn, "sign in with POST /v1/sessions and send its token as 'Authorization: Bearer TOKEN'")
  }

  /// The account that asks.
  ///
  /// - Throws: `not_signed_in`.
  var viewer: Sessions.Viewer {
    get throws(SocialError) { try signedIn.viewer }
  }

  /// - Throws: `not_signed_in`.
  var signedIn: Session {
    get throws(SocialError) {
      guard let session else { throw Self.notSignedIn }
      return session
    }
  }

  /// - Throws: a problem unless the request came with the token that lets its bearer act.
  func requireAdmin() throws {
    switch operatorRole {
    case .full: return
    case .readOnly:
      throw Problem(
        .forbidden, "read_only", "FANMILL_ADMIN_READ_TOKEN reads and changes nothing: send FANMILL_ADMIN_TOKEN")
    case nil: throw notAnOperator("the admin token (FANMILL_ADMIN_TOKEN of the API)")
    }
  }

  /// - Throws: a problem unless the request came with one of the operators' tokens.
  func requireOperator() throws {
    guard operatorRole == nil else { return }
    throw notAnOperator("FANMILL_ADMIN_READ_TOKEN or FANMILL_ADMIN_TOKEN of the API")
  }

  private func notAnOperator(_ tokens: String) -> Problem {
    guard session == nil else {
      return Problem(.forbidden, "admin_only", "this is for operators, with the admin token")
    }
    return Problem(.unauthorized, "not_signed_in", "send \(tokens) as 'Authorization: Bearer TOKEN'")
  }

  /// A part of the path.
  func parameter(_ name: String) throws -> String {
    try parameters.require(name)
  }

  /// A part of the path that is a post's id.
  ///
  /// - Throws: `not_found` for what cannot be one.
  func postID() throws -> Int {
    guard let id = EntityID.parse(try parameter("id")) else {
      throw SocialError(.notFound, "there is no such post")
    }
    return id
  }
}
