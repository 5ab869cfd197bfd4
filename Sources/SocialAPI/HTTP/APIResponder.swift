import Hummingbird

/// Answers the API's requests.
public struct APIResponder: HTTPResponder {
  private let router: RouterResponder<APIContext>

  init(_ router: RouterResponder<APIContext>) { self.router = router }

  public func respond(to request: Request, context: APIContext) async throws -> Response {
    guard request.uri.path == EventRoutes.path else { return try await router.respond(to: request, context: context) }
    // In a task of its own: a task keeps the deepest stack that it ever had for as long as it lives, which is as long as
    // its connection. That is 30 KB for an event stream which needs 2.
    async let response = router.respond(to: request, context: context)
    return try await response
  }
}
