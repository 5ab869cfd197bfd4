import DurableJobsAdmin
import DurableJobsDashboard
import HTTPTypes
import Hummingbird

/// Lets operators in whom an admin token has opened a session.
struct AdminAccess: Sendable {
  /// Nil where no admin token is set.
  let sessions: AdminSessions?

  /// - Throws: `DashboardRefusal`: 403 where no admin token is set, 401 for what no browser can be led on from.
  func decide(_ request: Request) async throws -> DashboardAccess {
    guard let sessions else { throw Self.closed }
    if let session = try await sessions.find(of: request) {
      let open = OpenSession(session: session, sessions: sessions)
      let name = session.actor.name
      return session.mayAct ? .act(as: name, session: open) : .look(as: name, session: open)
    }
    guard request.method == .get else {
      throw DashboardRefusal(.unauthorized, "You are signed out", "Sign in again; nothing was changed.")
    }
    // A browser is led to the form; what runs in a page, such as the live updates, gets an error.
    if request.headers[.accept]?.contains("text/event-stream") == true {
      throw DashboardRefusal(.unauthorized, "You are signed out", "Sign in again.")
    }
    return .answer(
      .redirect(to: DashboardLink.to(SocialDashboard.path + "/sign-in", ("to", request.uri.string))))
  }

  private static var closed: DashboardRefusal {
    DashboardRefusal(
      .forbidden, "The dashboard is closed",
      "No admin token is set. Set it for fanmill-api, 16 characters or more, and start it again:",
      example: "FANMILL_ADMIN_TOKEN=…        # may act\nFANMILL_ADMIN_READ_TOKEN=…   # may look; optional")
  }
}

/// A session as the dashboard uses it.
struct OpenSession: DashboardSession {
  let session: AdminSession
  let sessions: AdminSessions

  var formToken: String { session.formToken }
  var notice: String? { session.notice }

  func leave(_ notice: String?) async throws { try await sessions.leave(notice, for: session.token) }
}
