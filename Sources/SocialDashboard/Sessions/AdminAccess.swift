import DurableJobsAdmin
import DurableJobsDashboard
import HTTPTypes
import Hummingbird

/// Admits operators who opened a session with an admin token.
struct AdminAccess: Sendable {
  /// nil if no admin token is configured.
  let sessions: AdminSessions?

  /// - Throws: `DashboardRefusal`: 403 if no admin token is configured, 401 for requests that cannot be redirected to
  ///   the form.
  func decide(_ request: Request) async throws -> DashboardAccess {
    guard let sessions else { throw Self.closed }
    if let session = try await sessions.find(of: request) {
      let open = OpenSession(session: session, sessions: sessions)
      let name = session.actor.name
      return session.mayAct ? .act(as: name, session: open) : .read(as: name, session: open)
    }
    guard request.method == .get else {
      throw DashboardRefusal(.unauthorized, "You are signed out", "Sign in again; nothing was changed.")
    }
    // Browsers are redirected to the form; requests from scripts in a page, such as live updates, get an error.
    if request.headers[.accept]?.contains("text/event-stream") == true {
      throw DashboardRefusal(.unauthorized, "You are signed out", "Sign in again.")
    }
    return .answer(
      .redirect(to: DashboardLink.to(SocialDashboard.path + "/sign-in", ("to", request.uri.string))))
  }

  private static var closed: DashboardRefusal {
    DashboardRefusal(
      .forbidden, "The dashboard is closed",
      "No admin token is set. Set it for fanmill-api, 16 characters or more, and restart it:",
      example: "FANMILL_ADMIN_TOKEN=…        # full access\nFANMILL_ADMIN_READ_TOKEN=…   # read-only; optional")
  }
}

/// The session as the dashboard sees it.
struct OpenSession: DashboardSession {
  let session: AdminSession
  let sessions: AdminSessions

  var formToken: String { session.formToken }
  var notice: String? { session.notice }

  func leave(_ notice: String?) async throws { try await sessions.leave(notice, for: session.token) }
}
