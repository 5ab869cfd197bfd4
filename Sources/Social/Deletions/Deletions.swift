import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Deletes accounts for their owners.
///
/// The account's row is deleted at once, and with it, for all readers, everything that names the account. The job
/// `accounts.remove` deletes what it wrote, as described in `migrations/0046_hidden_accounts.sql`. What others received
/// remains: messages, shown as from 'deleted account', and a celeb's hearts.
public enum Deletions {
  /// How long a deletion token is valid, in hours. An owner without a password gets one by mail.
  static let hours: Int32 = 24

  /// Deletes an account whose password was checked.
  ///
  /// - Throws: `wrong_password` if the password changed since the check.
  public static func delete(
    _ account: Int, _ password: Passwords.Checked, in transaction: AppTransaction
  ) async throws {
    try await transaction.sql.execute(MediaLibrary.lock(account))
    try await Passwords.confirm(password, in: transaction.sql)
    try await delete(account, in: transaction)
  }

  /// Deletes an account on behalf of an operator.
  ///
  /// - Throws: `not_found`.
  public static func delete(_ account: Int, in transaction: AppTransaction) async throws {
    try await transaction.sql.execute(MediaLibrary.lock(account))
    let gone = try await transaction.sql.query(
      """
      WITH gone AS (DELETE FROM accounts WHERE id = \(account) RETURNING id), \(WebhookEvents.hooked(
        .accountDeleted, about: "'account/' || id", "jsonb_build_object('account', \(WebhookEvents.bare("id")))",
        from: "gone"))
      SELECT \(WebhookEvents.isHooked) FROM gone
      """
    ).decode(Bool.self)
    guard let isHooked = gone.first else { throw SocialError.notFound("account") }
    try await WebhookEvents.dispatch(isHooked, in: transaction)
    try await LiveTopic.notify([.hidden], in: transaction.sql)
    try await transaction.enqueue(AccountRemoval(account: account))
  }

  // MARK: Without a password

  /// Enqueues a mail with a token to the owner of an account without a password.
  ///
  /// - Throws: `no_password` if the account has no email address either.
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

  /// Issues a deletion token for an account, and returns it with the recipient.
  ///
  /// - Returns: nil if the account is deleted or no longer has an email address.
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

  /// Counts a request for a deletion mail.
  ///
  /// - Throws: `too_many_attempts`.
  public static func allow(_ account: Int, from client: ClientAddress, attempts: AttemptBook) async throws {
    try await attempts.count(AttemptLimit.resetByClient.by(client.key))
    try await attempts.count(AttemptLimit.resetOfAddress.by("account \(account)"))
  }

  /// Deletes the account that a token belongs to.
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
      // A 256-bit token cannot be guessed; the limit stops clients that try anyway.
      try await attempts.count(attempt)
      throw error
    }
  }

  private static var expired: SocialError {
    SocialError(
      .confirmationExpired, "the token was used or is older than a day: request another with DELETE /v1/me")
  }

  /// Deletes expired tokens.
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
