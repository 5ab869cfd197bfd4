import DurableJobs
import LibPQClient

/// Resets passwords with tokens that are mailed to the accounts' owners.
///
/// A token is random, like a session's, and only its hash is stored. It works once, within an hour.
public enum PasswordResets {
  /// Counts a request for a reset mail.
  ///
  /// - Parameter client: the requesting network address.
  /// - Throws: `invalid_email`, `too_many_attempts`.
  public static func allow(_ email: String, from client: ClientAddress, attempts: AttemptBook) async throws {
    let email = NormalForm.compared(email)
    try FieldRules.email(email)
    try await attempts.count(AttemptLimit.resetByClient.by(client.key))
    try await attempts.count(AttemptLimit.resetOfAddress.by(email))
  }

  /// Enqueues a mail with a token for the account with this address.
  ///
  /// The caller sees the same response, and the same work is done until then, whether or not such an account exists:
  /// the job is enqueued in any case, and does nothing without an account.
  public static func request(_ email: String, in transaction: AppTransaction) async throws {
    let accounts = try await transaction.sql.query(
      """
      SELECT id FROM accounts WHERE lower(email COLLATE "C") = \(NormalForm.compared(email)) AND email IS NOT NULL
      """
    ).decode(Int.self)
    try await transaction.enqueue(PasswordResetMail(account: accounts.first))
  }

  /// Issues a token for an account.
  public static func issue(for account: Int, in transaction: PostgresTransaction) async throws -> SessionToken {
    let token = SessionToken()
    try await transaction.execute(
      """
      INSERT INTO password_resets (token_hash, account_id, expires_at)
      VALUES (\(token.hash), \(account), now() + interval '1 hour')
      """)
    return token
  }

  /// Whether a token is still valid, checked before any expensive work.
  ///
  /// An unknown token counts against the client. A valid one does not, since 256 bits cannot be guessed.
  ///
  /// - Throws: `not_found`, `too_many_attempts`.
  public static func isUsable(
    _ token: String, from client: ClientAddress, attempts: AttemptBook, in pool: PostgresPool
  ) async throws -> Bool {
    let attempt = AttemptLimit.resetTokenByClient.by(client.key)
    try attempts.refuseAgain(attempt)
    do {
      _ = try await account(of: token, in: pool)
      return true
    } catch let error as SocialError where error.code == .resetExpired {
      return false
    } catch let error as SocialError where error.code == .notFound {
      try await attempts.count(attempt)
      throw error
    }
  }

  /// Sets the password of the token's account. Ends all its sessions and tokens.
  ///
  /// - Parameter client: recorded as one of the owner's networks, since the token proves access to the owner's mail.
  /// - Throws: `not_found`, `reset_expired`.
  public static func use(
    _ token: String, passwordHash: String, from client: ClientAddress, in transaction: PostgresTransaction
  ) async throws {
    let account = try await account(of: token, in: transaction)
    // Concurrent uses of two tokens of one account are serialized: the second finds its token expired.
    try await transaction.execute("SELECT FROM accounts WHERE id = \(account) FOR NO KEY UPDATE")
    _ = try await self.account(of: token, in: transaction)
    try await transaction.pipeline([
      "UPDATE accounts SET password_hash = \(passwordHash) WHERE id = \(account)",
      "DELETE FROM sessions WHERE account_id = \(account)",
    ])
    try await endAll(of: account, in: transaction)
    try await AccountNetworks.note(client.network, of: account, in: transaction)
  }

  /// Ends an account's tokens.
  static func endAll(of account: Int, in transaction: PostgresTransaction) async throws {
    try await transaction.execute(
      "UPDATE password_resets SET expires_at = now() WHERE account_id = \(account) AND expires_at > now()")
  }

  private static func account(of text: String, in reader: some SocialReader) async throws -> Int {
    guard let token = SessionToken(text),
      let (account, isValid) = try await reader.rows(
        "SELECT account_id, expires_at > clock_timestamp() FROM password_resets WHERE token_hash = \(token.hash)"
      ).decode(Int.self, Bool.self).first
    else { throw SocialError.notFound("token: request another with POST /v1/password-resets") }
    guard isValid else { throw expired }
    return account
  }

  /// The error for a token that existed but is no longer valid.
  public static let expired = SocialError(
    .resetExpired, "the token was used, or is older than an hour: request another with POST /v1/password-resets")

  /// Deletes tokens that expired at least a day ago. Until then they are reported as expired.
  ///
  /// - Returns: how many, at most `limit`.
  @discardableResult
  static func sweep(upTo limit: Int, in transaction: PostgresTransaction) async throws -> Int {
    try await transaction.execute(
      """
      DELETE FROM password_resets WHERE token_hash IN (
        SELECT token_hash FROM password_resets WHERE expires_at <= now() - interval '1 day'
        ORDER BY expires_at LIMIT \(limit) FOR UPDATE SKIP LOCKED)
      """)
  }
}
