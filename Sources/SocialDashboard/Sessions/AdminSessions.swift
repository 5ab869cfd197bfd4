import Cryptography
import DurableJobsAdmin
import Hummingbird
import LibPQClient
import Social

/// Opens, finds and ends operators' sessions. They are stored in Postgres, so signing out applies to every API process.
struct AdminSessions: Sendable {
  /// The maximum lifetime of a session.
  static let hours = 12
  /// Each sign-in deletes up to this many expired sessions.
  private static let sweep = 100

  let pool: PostgresPool
  let keys: DashboardKeys

  /// Opens a session.
  func open(name: String, role: Operator.Role) async throws -> SessionToken {
    let token = SessionToken()
    let limit = Self.sweep
    try await pool.pipeline([
      """
      DELETE FROM admin_sessions WHERE token_hash IN (
        SELECT token_hash FROM admin_sessions WHERE expires_at <= now() ORDER BY expires_at LIMIT \(limit)
        FOR UPDATE SKIP LOCKED)
      """,
      """
      INSERT INTO admin_sessions (token_hash, name, role, opened_with, expires_at)
      VALUES (\(Self.hash(token)), \(name), \(role.rawValue), \(keys.trace(of: role) ?? []),
        now() + make_interval(hours => \(Int32(Self.hours))))
      """,
    ])
    return token
  }

  /// The session of a token; nil if the token is unknown or expired, or its admin token is no longer the configured
  /// one.
  func find(_ token: SessionToken) async throws -> AdminSession? {
    let rows = try await pool.query(
      """
      SELECT name, role, opened_with, notice FROM admin_sessions
      WHERE token_hash = \(Self.hash(token)) AND expires_at > now()
      """
    ).decode(String.self, String.self, [UInt8].self, String?.self)
    guard let (name, text, openedWith, notice) = rows.first else { return nil }
    guard let role = Operator.Role(rawValue: text), keys.trace(of: role) == openedWith else { return nil }
    return AdminSession(token: token, actor: Operator(name: name, role: role), notice: notice)
  }

  /// The session of a request's cookie.
  func find(of request: Request) async throws -> AdminSession? {
    guard let token = SessionCookie.token(of: request) else { return nil }
    return try await find(token)
  }

  /// Ends a session; does nothing if there is none.
  func close(_ token: SessionToken) async throws {
    try await pool.execute("DELETE FROM admin_sessions WHERE token_hash = \(Self.hash(token))")
  }

  /// Stores a message for the session's next page.
  func leave(_ notice: String?, for token: SessionToken) async throws {
    try await pool.execute("UPDATE admin_sessions SET notice = \(notice) WHERE token_hash = \(Self.hash(token))")
  }

  private static func hash(_ token: SessionToken) -> [UInt8] { SHA256.hash(of: token.text.utf8) }
}
