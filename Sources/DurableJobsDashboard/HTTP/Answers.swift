import Hummingbird
import Logging

/// Turns every error into a page, and adds the security headers to every response.
struct Answers: RouterMiddleware {
  let kit: Kit
  let mount: MountPath

  func handle(
    _ request: Request, context: RouteContext, next: (Request, RouteContext) async throws -> Response
  ) async throws -> Response {
    var response: Response
    do {
      response = try await next(request, context)
    } catch {
      response = await page(of: error, request, context)
    }
    response.headers.secure()
    return response
  }

  private func page(of error: any Error, _ request: Request, _ context: RouteContext) async -> Response {
    let isNoPage = (error as? HTTPError)?.status == .notFound
    var cause = error
    // A visitor keeps the menu. If the lookup itself fails, the page has none.
    var visitor: Visitor?
    do {
      switch try await context.admission.outcome() {
      case .visitor(let found): visitor = found
      case .answer(let response):
        // An anonymous client does not learn which pages exist.
        if isNoPage { return response }
      }
    } catch let denial {
      if isNoPage { cause = denial }
    }
    let refusal = kit.refusal(of: cause)
    if refusal.status.code >= 500 {
      context.logger.error(
        "a page could not be served", metadata: ["path": "\(request.uri.path)", "error": "\(cause)"])
    }
    return kit.page(of: refusal, at: mount, for: visitor)
  }
}
