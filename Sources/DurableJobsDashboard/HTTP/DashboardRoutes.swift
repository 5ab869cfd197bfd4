import HTTPTypes
import Hummingbird

/// The routes of a dashboard and its app: the method that adds a route decides what guards it. Paths are relative to
/// the mount and may have parameters, such as `reports/{id}`.
public struct DashboardRoutes: Sendable {
  /// The access that a route requires.
  enum Guard: Sendable, Hashable {
    /// No access required: a sign-in form, the style sheet.
    case open
    /// A visitor with access.
    case read
    /// The same, for a form that changes only the visitor's own session.
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

  /// Adds a page for visitors with access.
  public mutating func page(
    _ path: String, _ handler: @escaping @Sendable (DashboardVisit) async throws -> Response
  ) {
    all.append(Route(method: .get, path: path, access: .read, handler: .page(handler)))
  }

  /// Adds a form target that makes a change, for visitors who may act.
  ///
  /// The form needs a hidden field `form` with the value `{{formToken}}`.
  public mutating func action(
    _ path: String, _ handler: @escaping @Sendable (DashboardVisit, DashboardForm) async throws -> Response
  ) {
    all.append(Route(method: .post, path: path, access: .act, handler: .action(handler)))
  }

  /// Adds a form target that changes at most the visitor's own session, such as signing out, for all visitors with
  /// access.
  /// The form needs the same hidden field as an action's.
  public mutating func form(
    _ path: String, _ handler: @escaping @Sendable (DashboardVisit, DashboardForm) async throws -> Response
  ) {
    all.append(Route(method: .post, path: path, access: .form, handler: .action(handler)))
  }

  /// Adds a public route, such as a sign-in page. A form sent by another site is still refused.
  public mutating func open(
    _ method: HTTPRequest.Method, _ path: String,
    _ handler: @escaping @Sendable (DashboardVisit) async throws -> Response
  ) {
    all.append(Route(method: method, path: path, access: .open, handler: .open(handler)))
  }
}
