import Cryptography
import DurableJobsAdmin
import Hummingbird
import LibPQClient
import Social

/// Opens, finds and ends operators' sessions, which are kept in Postgres: signed out is signed out at every API
/// process.
struct AdminSessions: Sendable {
  /// How long a session lasts at most.
  static let hours = 12
  /// What has expired is forgotten when somebody signs in, so many at a time.
  private static let sweep = 100

  let pool: PostgresPool
  let keys: DashboardKeys

  /// A new session.
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

  /// Whose session it is; nil if it is none, has expired, or its admin token is not that of the settings any more.
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

  /// The session that a request's cookie names.
  func find(of request: Request) async throws -> AdminSession? {
    guard let token = SessionCookie.token(of: request) else { return nil }
    return try await find(token)
  }

  /// Ends a session. Nothing happens if there is none.
  func close(_ token: SessionToken) async throws {
    try await pool.execute("DELETE FROM admin_sessions WHERE token_hash = \(Self.hash(token))")
  }

  /// Leaves a word for the session's next page.
  func leave(_ notice: String?, for token: SessionToken) async throws {
    try await pool.execute("UPDATE admin_sessions SET notice = \(notice) WHERE token_hash = \(Self.hash(token))")
  }

  private static func hash(_ token: SessionToken) -> [UInt8] { SHA256.hash(of: token.text.utf8) }
}
