import DurableJobs
import LibPQClient

/// Gives accounts other passwords, by tokens that only their owners get.
///
/// A token is as a session's: random, and only its hash is kept. It works once, within an hour.
public enum PasswordResets {
  /// Counts that somebody asks for a mail.
  ///
  /// - Parameter client: the network address that asks.
  /// - Throws: `invalid_email`, `too_many_attempts`.
  public static func allow(_ email: String, from client: ClientAddress, attempts: AttemptBook) async throws {
    let email = NormalForm.compared(email)
    try FieldRules.email(email)
    try await attempts.count(AttemptLimit.resetByClient.by(client.key))
    try await attempts.count(AttemptLimit.resetOfAddress.by(email))
  }

  /// Owes whoever has the address a mail with a token.
  ///
  /// Whether anybody has it changes neither what the caller learns nor what is done until then: the job is asked for in
  /// any case, and finds nobody to write to.
  public static func request(_ email: String, in transaction: AppTransaction) async throws {
    let accounts = try await transaction.sql.query(
      """
      SELECT id FROM accounts WHERE lower(email COLLATE "C") = \(NormalForm.compared(email)) AND email IS NOT NULL
      """
    ).decode(Int.self)
    try await transaction.enqueue(PasswordResetMail(account: accounts.first))
  }

  /// A token of an account.
  public static func issue(for account: Int, in transaction: PostgresTransaction) async throws -> SessionToken {
    let token = SessionToken()
    try await transaction.execute(
      """
      INSERT INTO password_resets (token_hash, account_id, expires_at)
      VALUES (\(token.hash), \(account), now() + interval '1 hour')
      """)
    return token
  }

  /// Whether a token can still be used, before anything is spent on it.
  ///
  /// One that is nobody's counts for the client that sends it; a right one needs no count, since nobody guesses 256
  /// bits.
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

  /// Gives the token's account another password. All its sessions end, and so do its tokens.
  ///
  /// - Parameter client: where its owner is, as who has the account's mail is.
  /// - Throws: `not_found`, `reset_expired`.
  public static func use(
    _ token: String, passwordHash: String, from client: ClientAddress, in transaction: PostgresTransaction
  ) async throws {
    let account = try await account(of: token, in: transaction)
    // Two tokens of one account that are used at once come one after the other: the second finds itself expired.
    try await transaction.execute("SELECT FROM accounts WHERE id = \(account) FOR NO KEY UPDATE")
    _ = try await self.account(of: token, in: transaction)
    try await transaction.pipeline([
      "UPDATE accounts SET password_hash = \(passwordHash) WHERE id = \(account)",
      "DELETE FROM sessions WHERE account_id = \(account)",
    ])
    try await endAll(of: account, in: transaction)
    try await AccountNetworks.note(client.network, of: account, in: transaction)
  }

  /// Ends the tokens of an account.
  static func endAll(of account: Int, in transaction: PostgresTransaction) async throws {
    try await transaction.execute(
      "UPDATE password_resets SET expires_at = now() WHERE account_id = \(account) AND expires_at > now()")
  }

  private static func account(of text: String, in reader: some SocialReader) async throws -> Int {
    guard let token = SessionToken(text),
      let (account, isValid) = try await reader.rows(
        "SELECT account_id, expires_at > clock_timestamp() FROM password_resets WHERE token_hash = \(token.hash)"
      ).decode(Int.self, Bool.self).first
    else { throw SocialError.notFound("token: ask for another with POST /v1/password-resets") }
    guard isValid else { throw expired }
    return account
  }

  /// Why a token is refused that was one.
  public static let expired = SocialError(
    .resetExpired, "the token was used, or is older than an hour: ask for another with POST /v1/password-resets")

  /// Forgets tokens that have expired a day ago or longer: until then it is told that they have.
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
