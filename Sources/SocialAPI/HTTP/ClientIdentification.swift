import HTTPTypes
import Hummingbird
import Social

/// Finds what tells a request's origin behind trusted proxies, and the token of a cookie session.
struct ClientIdentification: RouterMiddleware {
  let proxies: TrustedProxies
  let cookie: SessionCookie

  func handle(
    _ request: Request, context: APIContext, next: (Request, APIContext) async throws -> Response
  ) async throws -> Response {
    var context = context
    context.proxies = proxies
    context.forwarded = request.headers[values: .forwardedFor]
    context.cookieToken = cookie.token(of: request)
    return try await next(request, context)
  }
}
