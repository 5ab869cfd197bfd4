import LibPQClient

/// Signs accounts in and out.
public enum Sessions {
  /// How long a session lasts, in days.
  public static let days = 30

  /// The account that a token belongs to.
  public struct Viewer: Sendable, Hashable {
    public let id: Int
  }

  /// An account whose password was verified.
  public struct Authenticated: Sendable {
    public let account: Int
    /// The password's hash when it was verified.
    fileprivate let passwordHash: String
  }

  /// Opens a session after the right password was given.
  ///
  /// - Throws: `wrong_credentials` if the password changed since it was verified, so that knowing the old one is not
  ///   enough; `email_not_confirmed`, `account_suspended`.
  public static func open(
    for authenticated: Authenticated, from origin: SessionOrigin? = nil, in transaction: PostgresTransaction
  ) async throws -> SessionToken {
    // The lock orders this and a concurrent reset: the reset is seen here, or ends this session.
    let rows = try await transaction.query(
      "SELECT password_hash, awaits_confirmation FROM accounts WHERE id = \(authenticated.account) FOR SHARE"
    ).decode(String?.self, Bool.self)
    // A hash renewed in the meantime still belongs to the same password.
    guard let row = rows.first, let hash = row.0, PasswordHash.areOfOnePassword(hash, authenticated.passwordHash)
    else { throw wrongCredentials }
    if row.1 {
      throw SocialError(
        .emailNotConfirmed,
        "the account's address is not confirmed yet: follow the link in the mail, or request another with POST "
          + "/v1/email-confirmations"
      )
    }
    return try await open(for: authenticated.account, from: origin, in: transaction)
  }

  /// Opens a session for an account.
  ///
  /// - Parameter origin: the owner's origin; nil if another party opens it, such as an operator.
  /// - Throws: `account_suspended`.
  public static func open(
    for account: Int, from origin: SessionOrigin? = nil, in transaction: PostgresTransaction
  ) async throws -> SessionToken {
    let token = SessionToken()
    // The lock orders this and a concurrent suspension: the suspension is seen here, or ends this session.
    let opened = try await transaction.execute(
      """
      INSERT INTO sessions (token_hash, account_id, expires_at, network, client)
      SELECT \(token.hash), id, now() + make_interval(days => \(Int32(days))), \(origin?.network), \(origin?.client)
      FROM accounts WHERE id = \(account) AND suspended_at IS NULL FOR SHARE
      """)
    guard opened == 1 else {
      throw SocialError(.accountSuspended, "the account is suspended: contact the server's operator")
    }
    if let origin { try await AccountNetworks.note(origin.network, of: account, in: transaction) }
    return token
  }

  /// Verifies an email address and password. Takes as long for an unknown address as for a wrong password.
  ///
  /// Wrong passwords count against the client, against the client and address together, and against the address from
  /// everywhere. An attacker soon exhausts its own limits, and many attackers together do not lock the owner out of a
  /// network that the account has signed in from before.
  ///
  /// - Parameter client: the origin of the request.
  /// - Returns: the value that `open` takes.
  /// - Throws: `wrong_credentials`, `too_many_attempts`, `busy`.
  public static func authenticate(
    email: String, password: String, from client: ClientAddress, hasher: PasswordHasher, attempts: AttemptBook,
    in pool: PostgresPool
  ) async throws -> Authenticated {
    let email = NormalForm.compared(email)
    let own = AttemptLimit.signIn.from(client.key, to: email)
    var counted = [AttemptLimit.signInByClient.by(client.key)]
    try await attempts.count(counted[0], own)
    // Counted last: an attempt that the client's own limits refuse takes nothing from the shared limit.
    let everywhere = AttemptLimit.signInFromEverywhere.by(email)
    counted.append(everywhere)
    let refusal = try await attempts.refusal(of: everywhere)
    let rows =
      email.utf8.contains(0)
      ? []
      : try await pool.rows(
        """
        SELECT id, password_hash, EXISTS (
          SELECT FROM account_networks WHERE account_id = a.id AND network = \(client.network)
            AND seen_at > now() - \(unescaped: AccountNetworks.lifetime))
        FROM accounts a WHERE lower(email COLLATE "C") = \(email) AND email IS NOT NULL
        """
      ).decode(Int.self, String?.self, Bool.self)
    if let refusal {
      guard rows.first?.2 == true else { throw refusal }
      let network = AttemptLimit.signInFromNetwork.from(client.network, to: email)
      counted.append(network)
      try await attempts.count(network)
    }
    let isRight: Bool
    do {
      isRight = try await hasher.check(password, against: rows.first?.1, for: client.key)
    } catch let error as SocialError where error.code == .busy {
      // The password was not checked, so the attempt does not count.
      try await attempts.giveBack(counted + [own])
      throw error
    }
    guard let row = rows.first, let hash = row.1, isRight else { throw wrongCredentials }
    try await attempts.giveBack(counted)
    try await attempts.forget(own)
    try await renew(hash, of: password, account: row.0, for: client.key, hasher: hasher, in: pool)
    return Authenticated(account: row.0, passwordHash: hash)
  }

  /// Replaces a hash from an earlier version with one of current strength, now that the password is known.
  private static func renew(
    _ hash: String, of password: String, account: Int, for client: String, hasher: PasswordHasher,
    in pool: PostgresPool
  ) async throws {
    do {
      guard let renewed = try await hasher.renewed(hash, of: password, for: client) else { return }
      // A password changed in the meantime is kept.
      try await pool.execute(
        "UPDATE accounts SET password_hash = \(renewed) WHERE id = \(account) AND password_hash = \(hash)")
    } catch let error as SocialError where error.code == .busy {
      // The next sign-in renews it; this one does not have to wait.
    }
  }

  private static var wrongCredentials: SocialError {
    SocialError(.wrongCredentials, "no account has this email address and this password")
  }

  /// The account that a token belongs to; nil if the token belongs to no session, or the session has expired.
  public static func viewer(_ token: SessionToken, in reader: some SocialReader) async throws -> Viewer? {
    let rows = try await reader.rows(account(token))
    return try rows.decode(Int.self).first.map { Viewer(id: $0) }
  }

  /// The account that a token belongs to.
  ///
  /// - Throws: `not_signed_in` if the token belongs to no session, or the session has expired.
  public static func going(_ token: SessionToken, in reader: some SocialReader) async throws -> Viewer {
    guard let viewer = try await viewer(token, in: reader) else { throw ended }
    return viewer
  }

  public static var ended: SocialError {
    SocialError(.notSignedIn, "the session token is invalid or expired: sign in again")
  }

  /// A query for the account of a session.
  static func account(_ token: SessionToken) -> PostgresQuery {
    "SELECT account_id FROM sessions WHERE token_hash = \(token.hash) AND expires_at > now()"
  }

  /// Those of `tokens` whose sessions are active.
  public static func valid(_ tokens: [SessionToken], in reader: some SocialReader) async throws -> Set<SessionToken> {
    let hashes = try await reader.rows(
      "SELECT token_hash FROM sessions WHERE token_hash = ANY(\(tokens.map(\.hash))) AND expires_at > now()"
    ).decode([UInt8].self)
    let valid = Set(hashes)
    return Set(tokens.filter { valid.contains($0.hash) })
  }

  /// Ends a session. Does nothing if it does not exist.
  public static func close(_ token: SessionToken, in transaction: PostgresTransaction) async throws {
    try await transaction.execute("DELETE FROM sessions WHERE token_hash = \(token.hash)")
  }

  /// Deletes expired sessions, longest expired first.
  ///
  /// - Parameter limit: the most sessions to delete.
  /// - Returns: how many sessions were deleted.
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
