import Cryptography
import DurableJobsAdmin
import HTTPTypes
import Hummingbird
import LibPQClient
import Logging
import Social

/// Resolves a request's token, of its header or its cookie, to its session. A token without a session is refused. A
/// request without a token continues, and routes that need an account refuse it; so does one whose cookie's session has
/// ended, since browsers send a cookie unasked, also to sign in again.
struct Authentication: RouterMiddleware {
  let pool: PostgresPool

  func handle(
    _ request: Request, context: APIContext, next: (Request, APIContext) async throws -> Response
  ) async throws -> Response {
    guard request.bearerToken != nil || context.cookieToken != nil else { return try await next(request, context) }
    var context = context
    do {
      let token = try context.sessionToken(of: request)
      context.session = APIContext.Session(token: token, viewer: try await Sessions.going(token, in: pool))
    } catch let error as SocialError where error.code == .notSignedIn && request.bearerToken == nil {
      context.session = nil
    }
    return try await next(request, context)
  }
}

/// Guards the operators' routes, which open with an operators' token. A token that is neither an operators' nor a
/// session's counts as a guess, together with the guesses at the dashboard's sign-in.
struct AdminAuthentication: RouterMiddleware {
  let pool: PostgresPool
  /// nil if none is configured: then every token is wrong.
  let adminToken: AdminToken?
  /// Opens only the read-only routes.
  let adminReadToken: AdminToken?
  let attempts: AttemptBook

  func handle(
    _ request: Request, context: APIContext, next: (Request, APIContext) async throws -> Response
  ) async throws -> Response {
    guard let text = request.bearerToken else { return try await next(request, context) }
    var context = context
    let role = role(of: text)
    if role == nil, let token = SessionToken(text), let viewer = try await Sessions.viewer(token, in: pool) {
      // The routes refuse it with a reason.
      context.session = APIContext.Session(token: token, viewer: viewer)
      return try await next(request, context)
    }
    try await attempts.guess(isRight: role != nil, at: .adminToken, by: context.client.key)
    guard let role else {
      context.logger.notice("wrong admin token", metadata: ["address": "\(context.client.key)"])
      throw Problem(
        .unauthorized, "not_signed_in",
        "not an operator token: send the API's FANMILL_ADMIN_TOKEN as 'Authorization: Bearer TOKEN'"
      )
    }
    context.operatorRole = role
    return try await next(request, context)
  }

  /// The role that the token grants; nil for a wrong token. Both comparisons always run.
  private func role(of text: String) -> Operator.Role? {
    let (isFull, isReadOnly) = (adminToken?.matches(text) ?? false, adminReadToken?.matches(text) ?? false)
    return isFull ? .full : isReadOnly ? .readOnly : nil
  }
}

/// The operators' token. Its hash is compared, so that timing does not reveal how much of a guess is right.
public struct AdminToken: Sendable {
  private let digest: [UInt8]

  public init(_ text: String) { digest = SHA256.hash(of: text.utf8) }

  func matches(_ text: String) -> Bool { isEqualInConstantTime(SHA256.hash(of: text.utf8), digest) }
}

extension APIContext {
  /// The session token, not yet resolved.
  ///
  /// - Throws: `not_signed_in`.
  func sessionToken(of request: Request) throws(SocialError) -> SessionToken {
    guard let text = request.bearerToken ?? cookieToken else { throw Self.notSignedIn }
    guard let token = SessionToken(text) else { throw Sessions.ended }
    return token
  }
}

extension Request {
  /// The token in `Authorization: Bearer`.
  var bearerToken: String? {
    guard let header = headers[.authorization] else { return nil }
    let parts = header.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
    return String(parts[1])
  }
}
