import DurableJobsAdmin
import Hummingbird

/// What a visitor may do, as the closure says it that a dashboard is mounted with.
///
/// ```swift
/// dashboard.mount(on: router, at: "/ops") { request, context in
///   guard let user = context.identity else { return .answer(.redirect(to: "/sign-in")) }
///   return user.isAdmin ? .act(as: user.name) : .look(as: user.name)
/// }
/// ```
public struct DashboardAccess: Sendable {
  enum Decision: Sendable {
    case visitor(Operator, (any DashboardSession)?)
    case answer(Response)
    case refused
  }

  let decision: Decision

  /// All pages and all actions.
  ///
  /// - Parameters:
  ///   - name: for the action log.
  ///   - session: of the app, if it has one; else the dashboard keeps what it needs in cookies of its own.
  public static func act(as name: String, session: (any DashboardSession)? = nil) -> DashboardAccess {
    DashboardAccess(decision: .visitor(Operator(name: name, role: .full), session))
  }

  /// All pages and no action.
  ///
  /// - Parameters:
  ///   - name: of the visitor, as the pages show it.
  ///   - session: of the app, if it has one; else the dashboard keeps what it needs in cookies of its own.
  public static func look(as name: String, session: (any DashboardSession)? = nil) -> DashboardAccess {
    DashboardAccess(decision: .visitor(Operator(name: name, role: .readOnly), session))
  }

  /// Nothing: a page of status 403. A closure that has more to say throws a `DashboardRefusal`.
  public static let refused = DashboardAccess(decision: .refused)

  /// Nothing, and an answer of the app's own, such as a redirect to a page for signing in.
  public static func answer(_ response: Response) -> DashboardAccess { DashboardAccess(decision: .answer(response)) }
}

/// What an app's session keeps for the dashboard from one page to the next.
public protocol DashboardSession: Sendable {
  /// Comes with every form of the session's pages and has to come back: at least 16 random bytes as text, another for
  /// each session, that only pages of this session show.
  var formToken: String { get }

  /// What the next page says, once; nil for nothing.
  var notice: String? { get }

  /// Keeps a notice for the session's next page; nil forgets it.
  func leave(_ notice: String?) async throws
}
