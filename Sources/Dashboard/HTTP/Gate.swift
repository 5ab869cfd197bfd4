import DurableJobsAdmin
import HTTPTypes
import Hummingbird
import Social

/// What stands before every route: who asks, whether he may, and whether the form is one of ours.
struct Gate: Sendable {
  let sessions: AdminSessions
  /// The dashboard's own origin as browsers name it; nil for whatever host they asked.
  let origin: String?

  /// Answers a request by a route's handler, or refuses it.
  ///
  /// - Throws: `Refusal`: 401 without a session, 403 for a form of another site, without the session's token, or beyond
  ///   the role.
  func pass(_ request: Request, _ context: AdminContext, to route: Routes.Route) async throws -> Response {
    switch route.handler {
    case .open(let handler):
      if request.method != .get { try checkOrigin(request) }
      return try await handler(request, context)
    case .page(let handler):
      guard let session = try await session(of: request) else { return try signIn(request) }
      return try await handler(visit(request, context, session))
    case .action(let handler):
      try checkOrigin(request)
      guard let session = try await session(of: request) else {
        throw Refusal(.unauthorized, "You are signed out", "Sign in again; nothing was changed.")
      }
      let form = try await Form(bodyOf: request, context)
      guard session.issued(form["form"] ?? "") else {
        throw Refusal(
          .forbidden, "That form is not yours",
          "It is of another session, or not of this dashboard. Nothing was changed: go back, reload the page, try again."
        )
      }
      guard route.access != .act || session.mayAct else {
        throw Refusal(
          .forbidden, "You may look, not act", "You are signed in with the read-only token. Nothing was changed.")
      }
      var response = try await handler(visit(request, context, session), form)
      if route.access == .act { ActedCookie.set(in: &response.headers) }
      return response
    }
  }

  /// The session that the request's cookie names.
  func session(of request: Request) async throws -> AdminSession? {
    guard let cookie = request.cookies[SessionCookie.name], let token = SessionToken(cookie.value) else { return nil }
    return try await sessions.find(token)
  }

  private func visit(_ request: Request, _ context: AdminContext, _ session: AdminSession) -> Visit {
    Visit(
      request: request, context: context, session: session, query: Form(request.uri.query ?? ""),
      hasActed: ActedCookie.isSet(in: request))
  }

  /// A browser is led to the form; what runs in a page, such as the live updates, is told.
  private func signIn(_ request: Request) throws -> Response {
    if request.headers[.accept]?.contains("text/event-stream") == true {
      throw Refusal(.unauthorized, "You are signed out", "Sign in again.")
    }
    return Response.seeOther(Link.to("/admin/sign-in", ("to", request.uri.string)))
  }

  /// Refuses a form that another site has sent: a browser says with every POST where it comes from.
  private func checkOrigin(_ request: Request) throws(Refusal) {
    if let sent = request.headers[.origin] {
      if let origin, sent == origin { return }
      if origin == nil, let host = request.head.authority, sent == "http://" + host || sent == "https://" + host {
        return
      }
    } else if request.headers[.fetchSite] == "same-origin" {
      return
    }
    throw Refusal(
      .forbidden, "That form is not from here",
      "The browser says that another site has sent it, or does not say which. Nothing was changed."
        + (origin.map { " The dashboard's address is set to \($0) (FANMILL_ADMIN_URL)." } ?? ""))
  }
}

extension HTTPField.Name {
  static var fetchSite: Self {
    guard let name = Self("Sec-Fetch-Site") else { preconditionFailure("a token by RFC 9110") }
    return name
  }
}
