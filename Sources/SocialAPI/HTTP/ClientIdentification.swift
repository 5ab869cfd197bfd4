import HTTPTypes
import Hummingbird
import Social

/// Determines a request's origin through trusted proxies, and finds the token of a cookie session.
struct ClientIdentification: RouterMiddleware {
  let proxies: TrustedProxies
  let cookie: SessionCookie

  func handle(
    _ request: Request, context: APIContext, next: (Request, APIContext) async throws -> Response
  ) async throws -> Response {
    var context = context
    context.client = proxies.client(peer: context.peer, forwarded: request.headers[values: .forwardedFor])
    context.cookieToken = cookie.token(of: request)
    return try await next(request, context)
  }
}

extension HTTPField.Name {
  static var forwardedFor: Self {
    guard let name = Self("X-Forwarded-For") else { preconditionFailure("a token by RFC 9110") }
    return name
  }
}
