import Postgres

/// Signs in and out.
public enum Sessions {
  /// How long a session lasts, in days.
  public static let days = 30

  /// Who a token belongs to.
  public struct Viewer: Sendable, Hashable {
    public let id: Int
    public let username: String
  }

  /// An account whose password was right.
  public struct Authenticated: Sendable {
    public let account: Int
    /// The password's as it was checked.
    fileprivate let passwordHash: String
  }

  /// A new session of who has given the right password.
  ///
  /// - Throws: `wrong_credentials` if the password was changed since: who knew the old one is to be out.
  public static func open(
    for authenticated: Authenticated, in transaction: PostgresTransaction
  ) async throws -> SessionToken {
    // The lock makes a reset that runs beside this come before it, and be seen here, or after it, and end the session.
    let rows = try await transaction.query(
      """
      SELECT id FROM accounts WHERE id = \(authenticated.account) AND password_hash = \(authenticated.passwordHash)
      FOR SHARE
      """)
    if rows.isEmpty { throw wrongCredentials }
    return try await open(for: authenticated.account, in: transaction)
  }

  /// A new session of an account.
  public static func open(for account: Int, in transaction: PostgresTransaction) async throws -> SessionToken {
    let token = SessionToken()
    try await transaction.execute(
      """
      INSERT INTO sessions (token_hash, account_id, expires_at)
      VALUES (\(token.hash), \(account), now() + make_interval(days => \(Int32(days))))
      """)
    return token
  }

  /// Whose address and password these are. Takes as long for an unknown address as for a wrong password.
  ///
  /// - Returns: what `open` takes.
  /// - Throws: `wrong_credentials`, `too_many_attempts`, `busy`.
  public static func authenticate(
    email: String, password: String, hasher: PasswordHasher, in pool: PostgresPool
  ) async throws -> Authenticated {
    try await AttemptLimit.signIn.count(email, in: pool)
    let rows =
      email.utf8.contains(0)
      ? []
      : try await pool.rows("SELECT id, password_hash FROM accounts WHERE lower(email) = lower(\(email))")
        .decode(Int.self, String?.self)
    let isRight = try await hasher.check(password, against: rows.first?.1)
    guard let row = rows.first, let hash = row.1, isRight else {
      throw wrongCredentials
    }
    try await AttemptLimit.signIn.forget(email, in: pool)
    return Authenticated(account: row.0, passwordHash: hash)
  }

  private static var wrongCredentials: SocialError {
    SocialError(.wrongCredentials, "no account has this email address and this password")
  }

  /// Whom a token belongs to; nil if it is no session's, or the session has expired.
  public static func viewer(_ token: SessionToken, in reader: some SocialReader) async throws -> Viewer? {
    let rows = try await reader.rows(
      """
      SELECT a.id, a.username FROM sessions s JOIN accounts a ON a.id = s.account_id
      WHERE s.token_hash = \(token.hash) AND s.expires_at > now()
      """)
    return try rows.decode(Int.self, String.self).first.map { Viewer(id: $0.0, username: $0.1) }
  }

  /// Those of `tokens` whose sessions go on.
  public static func valid(_ tokens: [SessionToken], in reader: some SocialReader) async throws -> Set<SessionToken> {
    let hashes = try await reader.rows(
      "SELECT token_hash FROM sessions WHERE token_hash = ANY(\(tokens.map(\.hash))) AND expires_at > now()"
    ).decode([UInt8].self)
    let valid = Set(hashes)
    return Set(tokens.filter { valid.contains($0.hash) })
  }

  /// Ends a session. Nothing happens if there is none.
  public static func close(_ token: SessionToken, in transaction: PostgresTransaction) async throws {
    try await transaction.execute("DELETE FROM sessions WHERE token_hash = \(token.hash)")
  }

  /// Forgets sessions that have expired, the longest first.
  ///
  /// - Parameter limit: how many at most.
  /// - Returns: how many.
  @discardableResult
  public static func sweep(upTo limit: Int = 1000, in transaction: PostgresTransaction) async throws -> Int {
    try await transaction.execute(
      """
      DELETE FROM sessions WHERE token_hash IN (
        SELECT token_hash FROM sessions WHERE expires_at <= now() ORDER BY expires_at LIMIT \(limit)
        FOR UPDATE SKIP LOCKED)
      """)
  }
}
