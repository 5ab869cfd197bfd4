import Crypto
import HTTPTypes
import Hummingbird
import Postgres
import Social

/// Finds out whose session a request's bearer token is. A token that is no session's is refused; a request without one goes on,
/// and the routes that need an account refuse it.
struct Authentication: RouterMiddleware {
  let pool: PostgresPool
  /// Opens the routes for operators, and is no session.
  let adminToken: AdminToken?

  func handle(
    _ request: Request, context: APIContext, next: (Request, APIContext) async throws -> Response
  ) async throws -> Response {
    guard let text = request.bearerToken else { return try await next(request, context) }
    var context = context
    if adminToken?.matches(text) == true {
      context.isAdmin = true
      return try await next(request, context)
    }
    guard let token = SessionToken(text), let viewer = try await Sessions.viewer(token, in: pool) else {
      throw SocialError(.notSignedIn, "the session's token is not valid, or not any more: sign in again")
    }
    context.session = APIContext.Session(token: token, viewer: viewer)
    return try await next(request, context)
  }
}

/// The operators' token. Compared by its hash, so that the time it takes says nothing about how much of a guess is right.
public struct AdminToken: Sendable {
  private let digest: SHA256Digest

  public init(_ text: String) { digest = SHA256.hash(data: Array(text.utf8)) }

  func matches(_ text: String) -> Bool { SHA256.hash(data: Array(text.utf8)) == digest }
}

extension Request {
  /// What stands behind `Authorization: Bearer`.
  var bearerToken: String? {
    guard let header = headers[.authorization] else { return nil }
    let parts = header.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
    return String(parts[1])
  }
}
