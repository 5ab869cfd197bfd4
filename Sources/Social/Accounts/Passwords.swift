import LibPQClient

/// Checks and changes the passwords of signed-in accounts.
public enum Passwords {
  /// A password that was correct when it was checked.
  public struct Checked: Sendable {
    public let account: Int
    fileprivate let field: String
    fileprivate let hash: String
  }

  /// Checks that `password` is the account's. A wrong one counts against the account and the client, so that a stolen
  /// session cannot be used for guessing.
  ///
  /// - Parameter field: the request field that holds it.
  /// - Throws: `wrong_password`, `too_many_attempts`, `busy`.
  public static func check(
    _ password: String, _ field: String = "password", of account: Int, from client: ClientAddress,
    hasher: PasswordHasher, attempts: AttemptBook,
    in pool: PostgresPool
  ) async throws -> Checked {
    let attempt = AttemptLimit.passwordOfAccount.from(client.key, to: String(account))
    try await attempts.count(attempt)
    let hashes = try await pool.query("SELECT password_hash FROM accounts WHERE id = \(account)").decode(String?.self)
    let isRight: Bool
    do {
      isRight = try await hasher.check(password, against: hashes.first ?? nil, for: client.key)
    } catch let error as SocialError where error.code == .busy {
      // The password was not checked, so the attempt does not count.
      try await attempts.giveBack([attempt])
      throw error
    }
    guard isRight, let hash = hashes.first ?? nil else { throw wrong(field) }
    try await attempts.forget(attempt)
    return Checked(account: account, field: field, hash: hash)
  }

  /// Checks that `password` is the account's, if the account has one.
  ///
  /// - Returns: nil for an account without a password, such as an imported one.
  /// - Throws: `invalid_password` if the account has a password and none is given; the errors of `check`.
  public static func checkIfAny(
    _ password: String?, of account: Int, from client: ClientAddress, hasher: PasswordHasher, attempts: AttemptBook,
    in pool: PostgresPool
  ) async throws -> Checked? {
    if let password {
      return try await check(password, of: account, from: client, hasher: hasher, attempts: attempts, in: pool)
    }
    let rows = try await pool.query("SELECT FROM accounts WHERE id = \(account) AND password_hash IS NULL")
    guard !rows.isEmpty else {
      throw SocialError.invalid("password", "is required: enter the account's password to confirm that you own it")
    }
    return nil
  }

  /// Changes an account's password. Ends all its other sessions and its password reset tokens.
  ///
  /// - Throws: `wrong_password` if the password changed after the check; `not_signed_in` if the session ended.
  public static func change(
    _ old: Checked, toHash hash: String, session: SessionToken, in transaction: PostgresTransaction
  ) async throws {
    try await confirm(old, in: transaction)
    let sessions = try await transaction.query(
      "SELECT FROM sessions WHERE token_hash = \(session.hash) AND account_id = \(old.account) AND expires_at > now()")
    guard !sessions.isEmpty else { throw SocialError(.notSignedIn, "the session has ended: sign in again") }
    try await transaction.execute("UPDATE accounts SET password_hash = \(hash) WHERE id = \(old.account)")
    try await Sessions.closeOthers(old.account, than: session, in: transaction)
    try await PasswordResets.endAll(of: old.account, in: transaction)
  }

  /// Locks the account and confirms that its password is still the one that was checked.
  ///
  /// - Throws: `wrong_password`.
  static func confirm(_ checked: Checked, in transaction: PostgresTransaction) async throws {
    let hashes = try await transaction.query(
      "SELECT password_hash FROM accounts WHERE id = \(checked.account) FOR NO KEY UPDATE"
    ).decode(String?.self)
    // A hash renewed in the meantime still belongs to the same password.
    guard let hash = hashes.first ?? nil, PasswordHash.areOfOnePassword(hash, checked.hash) else {
      throw wrong(checked.field)
    }
  }

  /// Confirms a checked password, where nil means that the account has none.
  ///
  /// - Throws: `wrong_password`.
  static func confirm(_ checked: Checked?, of account: Int, in transaction: PostgresTransaction) async throws {
    if let checked { return try await confirm(checked, in: transaction) }
    let rows = try await transaction.query(
      "SELECT FROM accounts WHERE id = \(account) AND password_hash IS NULL FOR NO KEY UPDATE")
    guard !rows.isEmpty else { throw wrong("password") }
  }

  private static func wrong(_ field: String) -> SocialError {
    SocialError(.wrongPassword, "this is not the account's password", field: field)
  }
}
