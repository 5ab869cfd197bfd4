import DurableJobsAdmin
import Foundation
import HTTPTypes
import Hummingbird

/// A signed-in operator's request.
struct Visit: Sendable {
  let request: Request
  let context: AdminContext
  let session: AdminSession
  let query: Form
  /// Whether the operator has changed something in the last seconds, so that what is shown has to have it.
  let hasActed: Bool

  var actor: Operator { session.actor }

  /// A part of the path, with what its escapes stand for.
  func parameter(_ name: String) throws -> String {
    let text = try context.parameters.require(name)
    guard let decoded = text.removingPercentEncoding, !decoded.utf8.contains(0) else {
      throw Refusal(.notFound, "Not found", "There is no page at this address.")
    }
    return decoded
  }
}

/// Who may ask for a route.
public enum DashboardAccess: Sendable, Hashable {
  /// Anybody: the sign-in form, the style sheet.
  case open
  /// Whoever is signed in.
  case read
  /// Whoever is signed in, by a form that he got here: it changes no more than his own session.
  case form
  /// The same, with the full role: it changes something.
  case act
}

/// All routes of the dashboard, in one list: what guards a route follows from how it is put there, and tests go through
/// it.
struct Routes: Sendable {
  struct Route: Sendable {
    let method: HTTPRequest.Method
    let path: String
    let access: DashboardAccess
    let handler: Handler
  }

  enum Handler: Sendable {
    case open(@Sendable (Request, AdminContext) async throws -> Response)
    case page(@Sendable (Visit) async throws -> Response)
    case action(@Sendable (Visit, Form) async throws -> Response)
  }

  private(set) var all: [Route] = []

  /// Something that anybody may see.
  mutating func open(
    _ method: HTTPRequest.Method, _ path: String,
    _ handler: @escaping @Sendable (Request, AdminContext) async throws -> Response
  ) {
    all.append(Route(method: method, path: path, access: .open, handler: .open(handler)))
  }

  /// A page for operators.
  mutating func page(_ path: String, _ handler: @escaping @Sendable (Visit) async throws -> Response) {
    all.append(Route(method: .get, path: path, access: .read, handler: .page(handler)))
  }

  /// A form's target that changes the operator's own session at most.
  mutating func form(_ path: String, _ handler: @escaping @Sendable (Visit, Form) async throws -> Response) {
    all.append(Route(method: .post, path: path, access: .form, handler: .action(handler)))
  }

  /// A form's target that changes something: for the full role.
  mutating func action(_ path: String, _ handler: @escaping @Sendable (Visit, Form) async throws -> Response) {
    all.append(Route(method: .post, path: path, access: .act, handler: .action(handler)))
  }
}
