import HTTPTypes
import Hummingbird

/// The routes of a dashboard, its own and its app's: how a route is added decides what guards it. Paths are relative to
/// the mount and may have parameters, such as `reports/{id}`.
public struct DashboardRoutes: Sendable {
  /// Who gets through to a route.
  enum Guard: Sendable, Hashable {
    /// Everybody: a sign-in form, the style sheet.
    case open
    /// A visitor with access.
    case read
    /// The same, by a form that changes the visitor's own session alone.
    case form
    /// The same, with a role that may act.
    case act
  }

  enum Handler: Sendable {
    case open(@Sendable (DashboardVisit) async throws -> Response)
    case page(@Sendable (DashboardVisit) async throws -> Response)
    case action(@Sendable (DashboardVisit, DashboardForm) async throws -> Response)
  }

  struct Route: Sendable {
    let method: HTTPRequest.Method
    let path: String
    let access: Guard
    let handler: Handler
  }

  private(set) var all: [Route] = []

  /// Adds a page for visitors who are let in.
  public mutating func page(
    _ path: String, _ handler: @escaping @Sendable (DashboardVisit) async throws -> Response
  ) {
    all.append(Route(method: .get, path: path, access: .read, handler: .page(handler)))
  }

  /// Adds a form's target that changes something: for visitors who may act.
  ///
  /// The form has a hidden field `form` with the value `{{formToken}}`.
  public mutating func action(
    _ path: String, _ handler: @escaping @Sendable (DashboardVisit, DashboardForm) async throws -> Response
  ) {
    all.append(Route(method: .post, path: path, access: .act, handler: .action(handler)))
  }

  /// Adds a form's target that changes the visitor's own session at most, such as signing out: for all visitors who are
  /// let in. The form has the same hidden field as an action's.
  public mutating func form(
    _ path: String, _ handler: @escaping @Sendable (DashboardVisit, DashboardForm) async throws -> Response
  ) {
    all.append(Route(method: .post, path: path, access: .form, handler: .action(handler)))
  }

  /// Adds a route for everybody, such as a sign-in page. A form that another site sent is still refused.
  public mutating func open(
    _ method: HTTPRequest.Method, _ path: String,
    _ handler: @escaping @Sendable (DashboardVisit) async throws -> Response
  ) {
    all.append(Route(method: method, path: path, access: .open, handler: .open(handler)))
  }
}
