import Cryptography
import DurableJobsAdmin
import HTTPTypes
import Hummingbird
import LibPQClient
import Logging
import Social

/// Finds out whose session a request's bearer token is. A token that is no session's is refused; a request without one
/// goes on, and the routes that need an account refuse it.
struct Authentication: RouterMiddleware {
  let pool: PostgresPool

  func handle(
    _ request: Request, context: APIContext, next: (Request, APIContext) async throws -> Response
  ) async throws -> Response {
    guard request.bearerToken != nil else { return try await next(request, context) }
    let token = try request.sessionToken()
    var context = context
    context.session = APIContext.Session(token: token, viewer: try await Sessions.going(token, in: pool))
    return try await next(request, context)
  }
}

/// Stands before the operators' routes, which their tokens open. What is neither of those nor a session's is a guess at
/// them, and counts with those at the dashboard's door.
struct AdminAuthentication: RouterMiddleware {
  let pool: PostgresPool
  /// nil where none is set: then no token is right.
  let adminToken: AdminToken?
  /// Opens those of the routes that only read.
  let adminReadToken: AdminToken?
  let attempts: AttemptBook

  func handle(
    _ request: Request, context: APIContext, next: (Request, APIContext) async throws -> Response
  ) async throws -> Response {
    guard let text = request.bearerToken else { return try await next(request, context) }
    var context = context
    let role = role(of: text)
    if role == nil, let token = SessionToken(text), let viewer = try await Sessions.viewer(token, in: pool) {
      // The routes refuse it, and say why.
      context.session = APIContext.Session(token: token, viewer: viewer)
      return try await next(request, context)
    }
    try await attempts.guess(isRight: role != nil, at: .adminToken, by: context.client.key)
    guard let role else {
      context.logger.notice("a wrong admin token", metadata: ["address": "\(context.client.key)"])
      throw Problem(
        .unauthorized, "not_signed_in",
        "this is none of the operators' tokens: send FANMILL_ADMIN_TOKEN of the API as 'Authorization: Bearer TOKEN'"
      )
    }
    context.operatorRole = role
    return try await next(request, context)
  }

  /// What a token lets its bearer do; nil for a wrong one. Both are compared, whatever the first says.
  private func role(of text: String) -> Operator.Role? {
    let (isFull, isReadOnly) = (adminToken?.matches(text) ?? false, adminReadToken?.matches(text) ?? false)
    return isFull ? .full : isReadOnly ? .readOnly : nil
  }
}

/// The operators' token. Compared by its hash, so that the time it takes says nothing about how much of a guess is
/// right.
public struct AdminToken: Sendable {
  private let digest: [UInt8]

  public init(_ text: String) { digest = SHA256.hash(of: text.utf8) }

  func matches(_ text: String) -> Bool { isEqualInConstantTime(SHA256.hash(of: text.utf8), digest) }
}

extension Request {
  /// The session's token, which is still to be looked up.
  ///
  /// - Throws: `not_signed_in`.
  func sessionToken() throws(SocialError) -> SessionToken {
    guard let text = bearerToken else { throw APIContext.notSignedIn }
    guard let token = SessionToken(text) else { throw Sessions.ended }
    return token
  }

  /// What stands behind `Authorization: Bearer`.
  var bearerToken: String? {
    guard let header = headers[.authorization] else { return nil }
    let parts = header.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
    return String(parts[1])
  }
}
