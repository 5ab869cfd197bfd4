import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Deletes accounts for their owners.
///
/// The account's row goes at once, and with it everything that names the account, for all readers. What it wrote goes
/// with the job `accounts.remove`, described in `migrations/0046_hidden_accounts.sql`. What others have of it stays with
/// them: the messages that they got, from 'deleted account'; hearts that a celeb got.
public enum Deletions {
  /// How long a token works that an owner without a password gets by mail, in hours.
  static let hours: Int32 = 24

  /// Deletes the account whose password was checked, or that has none to check.
  ///
  /// - Throws: `wrong_password` if the password was changed since.
  public static func delete(
    _ account: Int, _ password: Passwords.Checked, in transaction: AppTransaction
  ) async throws {
    try await transaction.sql.execute(MediaLibrary.lock(account))
    try await Passwords.confirm(password, in: transaction.sql)
    try await delete(account, in: transaction)
  }

  /// Deletes an account at an operator's word.
  ///
  /// - Throws: `not_found`.
  public static func delete(_ account: Int, in transaction: AppTransaction) async throws {
    try await transaction.sql.execute(MediaLibrary.lock(account))
    guard try await transaction.sql.execute("DELETE FROM accounts WHERE id = \(account)") == 1 else {
      throw SocialError.notFound("account")
    }
    try await LiveTopic.notify([.hidden], in: transaction.sql)
    try await transaction.enqueue(AccountRemoval(account: account))
  }

  // MARK: Without a password

  /// Owes the owner of an account that has no password a mail with a token.
  ///
  /// - Throws: `no_password` for an account that has no address either.
  public static func request(_ account: Int, in transaction: AppTransaction) async throws {
    let addresses = try await transaction.sql.query("SELECT email FROM accounts WHERE id = \(account)")
      .decode(String?.self)
    guard let address = addresses.first else { throw SocialError.notFound("account") }
    guard address != nil else {
      throw SocialError(
        .noPassword,
        "the account has neither a password nor an email address: ask its operator, `fanmill accounts delete NAME`")
    }
    try await transaction.enqueue(DeletionMail(account: account))
  }

  /// A token for an account's owner, and whom to send it.
  ///
  /// - Returns: nil where the account is gone, or has no address any more.
  static func issue(
    for account: Int, in transaction: PostgresTransaction
  ) async throws -> (username: String, email: String, token: SessionToken)? {
    let rows = try await transaction.query(
      "SELECT username, email FROM accounts WHERE id = \(account) AND email IS NOT NULL FOR SHARE"
    ).decode(String.self, String.self)
    guard let (username, email) = rows.first else { return nil }
    let token = SessionToken()
    try await transaction.execute(
      """
      INSERT INTO deletion_tokens (token_hash, account_id, expires_at)
      VALUES (\(token.hash), \(account), now() + make_interval(hours => \(hours)))
      """)
    return (username, email, token)
  }

  /// Counts that an owner has a mail sent.
  ///
  /// - Throws: `too_many_attempts`.
  public static func allow(_ account: Int, from client: ClientAddress, attempts: AttemptBook) async throws {
    try await attempts.count(AttemptLimit.resetByClient.by(client.key))
    try await attempts.count(AttemptLimit.resetOfAddress.by("account \(account)"))
  }

  /// Deletes the account of a token.
  ///
  /// - Throws: `confirmation_expired`, `too_many_attempts`.
  public static func confirm(
    _ text: String, from client: ClientAddress, attempts: AttemptBook,
    in transact: (@escaping @Sendable (AppTransaction) async throws -> Void) async throws -> Void
  ) async throws {
    let attempt = AttemptLimit.resetTokenByClient.by(client.key)
    try attempts.refuseAgain(attempt)
    guard let token = SessionToken(text) else {
      try await attempts.count(attempt)
      throw expired
    }
    do {
      try await transact { transaction in
        let accounts = try await transaction.sql.query(
          "SELECT account_id FROM deletion_tokens WHERE token_hash = \(token.hash) AND expires_at > now()"
        ).decode(Int.self)
        guard let account = accounts.first else { throw expired }
        do {
          try await delete(account, in: transaction)
        } catch let error as SocialError where error.code == .notFound {
          throw expired
        }
      }
    } catch let error as SocialError where error.code == .confirmationExpired {
      // Nobody guesses 256 bits; who tries many is told so.
      try await attempts.count(attempt)
      throw error
    }
  }

  private static var expired: SocialError {
    SocialError(
      .confirmationExpired, "the token was used or is older than a day: ask for another with DELETE /v1/me")
  }

  /// Forgets tokens that have expired.
  ///
  /// - Returns: how many, at most `limit`.
  static func sweep(upTo limit: Int, in transaction: PostgresTransaction) async throws -> Int {
    try await transaction.execute(
      """
      DELETE FROM deletion_tokens WHERE token_hash IN (
        SELECT token_hash FROM deletion_tokens WHERE expires_at <= now() ORDER BY expires_at LIMIT \(limit)
        FOR UPDATE SKIP LOCKED)
      """)
  }
}
