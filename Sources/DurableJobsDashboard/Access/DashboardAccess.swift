import DurableJobsAdmin
import Hummingbird

/// A visitor's access, as decided by the closure that the dashboard is mounted with.
///
/// ```swift
/// dashboard.mount(on: router, at: "/ops") { request, context in
///   guard let user = context.identity else { return .answer(.redirect(to: "/sign-in")) }
///   return user.isAdmin ? .act(as: user.name) : .read(as: user.name)
/// }
/// ```
public struct DashboardAccess: Sendable {
  enum Decision: Sendable {
    case visitor(Operator, (any DashboardSession)?)
    case answer(Response)
    case refused
  }

  let decision: Decision

  /// Access to all pages and all actions.
  ///
  /// - Parameters:
  ///   - name: the visitor's name in the action log.
  ///   - session: the app's session, if it has one; otherwise the dashboard uses its own cookies.
  public static func act(as name: String, session: (any DashboardSession)? = nil) -> DashboardAccess {
    DashboardAccess(decision: .visitor(Operator(name: name, role: .full), session))
  }

  /// Access to all pages but no actions.
  ///
  /// - Parameters:
  ///   - name: the visitor's name on the pages.
  ///   - session: the app's session, if it has one; otherwise the dashboard uses its own cookies.
  public static func read(as name: String, session: (any DashboardSession)? = nil) -> DashboardAccess {
    DashboardAccess(decision: .visitor(Operator(name: name, role: .readOnly), session))
  }

  /// No access: a page of status 403. To say more, a closure throws a `DashboardRefusal`.
  public static let refused = DashboardAccess(decision: .refused)

  /// No access, but a response of the app's own, such as a redirect to a sign-in page.
  public static func answer(_ response: Response) -> DashboardAccess { DashboardAccess(decision: .answer(response)) }
}

/// The dashboard's data in an app's session, kept between pages.
public protocol DashboardSession: Sendable {
  /// The token that every form of the session's pages must send back: at least 16 random bytes as text, different for
  /// each session, and shown only on pages of this session.
  var formToken: String { get }

  /// The message for the next page, shown once; nil for none.
  var notice: String? { get }

  /// Stores a notice for the session's next page; nil removes it.
  func leave(_ notice: String?) async throws
}
