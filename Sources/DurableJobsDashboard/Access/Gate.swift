import HTTPTypes
import Hummingbird
import Locking

/// Guards every route: checks the visitor's access, role and form token.
struct Gate: Sendable {
  let kit: Kit
  let mount: MountPath
  let streams: LiveStreams

  /// Passes a request to a route's handler, or refuses it.
  ///
  /// - Throws: what the app's closure throws; `DashboardRefusal` of status 403 for a form of another site, a form
  ///   without the visitor's token, or an action that the visitor's role does not allow.
  func pass(_ request: Request, _ context: RouteContext, to route: DashboardRoutes.Route) async throws -> Response {
    switch route.handler {
    case .open(let handler):
      if request.method != .get { try checkOrigin(request) }
      return try await handler(visit(request, context, nil, route))
    case .page(let handler):
      switch try await context.admission.outcome() {
      case .answer(let response): return response
      case .visitor(let visitor):
        if request.headers[.accept]?.contains("text/event-stream") == true {
          return try updates(of: handler, visitor, visit(request, context, visitor, route, isUpdate: true))
        }
        var response = try await handler(visit(request, context, visitor, route))
        visitor.begin(in: &response)
        return response
      }
    case .action(let handler):
      try checkOrigin(request)
      switch try await context.admission.outcome() {
      case .answer(let response): return response
      case .visitor(let visitor):
        return try await act(handler, visitor, visit(request, context, visitor, route), route)
      }
    }
  }

  /// Streams a page while it is open: its parts as they are every two seconds.
  private func updates(
    of handler: @escaping @Sendable (DashboardVisit) async throws -> Response, _ visitor: Visitor,
    _ visit: DashboardVisit
  ) throws -> Response {
    try streams.open(visit.context) {
      // The stream ends for a visitor who would no longer be admitted, or with another role. The browser then asks
      // again.
      guard try await visit.admission.isOpen(to: visitor.actor) else { return nil }
      let response = try await handler(visit)
      guard response.status == .ok else { return nil }
      let text = Collected()
      try await response.body.write(text)
      return text.text
    }
  }

  private func act(
    _ handler: @Sendable (DashboardVisit, DashboardForm) async throws -> Response, _ visitor: Visitor,
    _ visit: DashboardVisit, _ route: DashboardRoutes.Route
  ) async throws -> Response {
    let form = try await DashboardForm(bodyOf: visit.request)
    guard visitor.issued(form[DashboardVisit.tokenField] ?? "") else {
      throw DashboardRefusal(
        .forbidden, "This form is not yours",
        "It belongs to another session or another site. Nothing was changed: go back, reload the page and try again.")
    }
    guard route.access != .act || visitor.mayAct else {
      throw DashboardRefusal(
        .forbidden, "Read-only access", "Your role here is read-only. Nothing was changed.")
    }
    var response = try await handler(visit, form)
    if route.access == .act {
      ActedCookie.set(in: &response.headers, at: mount, isSecure: kit.isSecure)
    }
    return response
  }

  private func visit(
    _ request: Request, _ context: RouteContext, _ visitor: Visitor?, _ route: DashboardRoutes.Route,
    isUpdate: Bool = false
  ) -> DashboardVisit {
    DashboardVisit(
      isUpdate: isUpdate, request: request, context: context.outer, query: DashboardForm(request.uri.query ?? ""),
      visitor: visitor,
      kit: kit, mount: mount, route: route.path, parameters: context.parameters, admission: context.admission)
  }

  /// Refuses a form sent by another site: browsers send the origin with every POST.
  private func checkOrigin(_ request: Request) throws(DashboardRefusal) {
    let origin = kit.origin
    if let sent = request.headers[.origin] {
      if let origin, sent == origin { return }
      if origin == nil, let host = request.head.authority, sent == "http://" + host || sent == "https://" + host {
        return
      }
    } else if request.headers[.fetchSite] == "same-origin" {
      return
    }
    let setting = kit.originSetting.map { " (\($0))" } ?? ""
    throw DashboardRefusal(
      .forbidden, "This form came from another site",
      "The browser names another site as its origin, or names none. Nothing was changed."
        + (origin.map { " The dashboard's address is set to \($0)\(setting)." } ?? ""))
  }
}

/// Collects the body of a response.
private final class Collected: ResponseBodyWriter {
  private let buffer = Locked(ByteBuffer())

  var text: String { buffer.withLock { String(buffer: $0) } }

  func write(_ part: ByteBuffer) async throws {
    buffer.withLock { buffer in
      var part = part
      buffer.writeBuffer(&part)
    }
  }

  func finish(_ trailers: HTTPFields?) async throws {}
}

extension HTTPField.Name {
  static var fetchSite: Self {
    guard let name = Self("Sec-Fetch-Site") else { preconditionFailure("a token by RFC 9110") }
    return name
  }
}
