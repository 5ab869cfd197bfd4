import Hummingbird
import NIOCore
import Social

/// What a request carries along: who asks, once that is known.
public struct APIContext: RequestContext {
  public var coreContext: CoreRequestContextStorage
  /// The session's token and its account; nil without one.
  var session: Session?
  /// Whether the request came with the operators' token.
  var isAdmin = false
  /// Ends the connection, whatever is being written to it.
  let hangUp: @Sendable () -> Void
  /// The client's network address, for counting what it asks for.
  let client: String

  struct Session: Sendable {
    let token: SessionToken
    let viewer: Sessions.Viewer
  }

  public init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    let channel = source.channel
    hangUp = { channel.close(promise: nil) }
    client = ClientAddress.prefix(of: channel.remoteAddress?.ipAddress)
  }

  /// The largest body that is read, in bytes.
  public var maxUploadSize: Int { 1 << 20 }

  /// The account that asks.
  ///
  /// - Throws: `not_signed_in`.
  var viewer: Sessions.Viewer {
    get throws(SocialError) { try signedIn.viewer }
  }

  /// - Throws: `not_signed_in`.
  var signedIn: Session {
    get throws(SocialError) {
      guard let session else {
        throw SocialError(
          .notSignedIn, "sign in with POST /v1/sessions and send its token as 'Authorization: Bearer TOKEN'")
      }
      return session
    }
  }

  /// - Throws: a problem unless the request came with the operators' token.
  func requireAdmin() throws {
    if isAdmin { return }
    if session != nil { throw Problem(.forbidden, "admin_only", "this is for operators, with the admin token") }
    throw Problem(
      .unauthorized, "not_signed_in",
      "send the admin token (FANMILL_ADMIN_TOKEN of the API) as 'Authorization: Bearer TOKEN'")
  }

  /// A part of the path.
  func parameter(_ name: String) throws -> String {
    try parameters.require(name)
  }

  /// A part of the path that is a post's id.
  ///
  /// - Throws: `not_found` for what cannot be one.
  func postID() throws -> Int {
    guard let id = Int(try parameter("id")), id >= 0 else {
      throw SocialError(.notFound, "there is no such post")
    }
    return id
  }
}
