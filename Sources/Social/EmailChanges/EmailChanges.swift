import DurableJobs
import LibPQClient

/// Changes accounts' email addresses, once the new address is confirmed from its mailbox.
///
/// A token is random, like a session's, and only its hash is stored. It is valid for a day, and only while its address
/// is the latest one requested.
public enum EmailChanges {
  /// How long an address can be confirmed, in hours.
  static let hours: Int32 = 24

  /// Requests another address. Mails a token to the new address and a notice to the old one.
  ///
  /// - Parameter password: nil for an account without a password.
  /// - Throws: `wrong_password`, `email_taken`.
  public static func request(
    _ email: String, for account: Int, _ password: Passwords.Checked?, in transaction: AppTransaction
  ) async throws {
    try await Passwords.confirm(password, of: account, in: transaction.sql)
    let old =
      try await transaction.sql.query("SELECT email FROM accounts WHERE id = \(account)")
      .decode(String?.self).first ?? nil
    let owners = try await transaction.sql.query(
      """
      SELECT id FROM accounts WHERE lower(email COLLATE "C") = \(email) AND email IS NOT NULL
      """
    ).decode(Int.self)
    if let owner = owners.first, owner != account { throw taken }
    try await wait(for: email, by: account, in: transaction.sql)
    try await transaction.enqueue(EmailConfirmationMail(account: account))
    if let old { try await transaction.enqueue(EmailChangeNotice(account: account, email: old)) }
  }

  /// Marks a new account as waiting until its address is confirmed.
  public static func requestFirst(_ email: String, for account: Int, in transaction: AppTransaction) async throws {
    try await transaction.sql.execute("UPDATE accounts SET awaits_confirmation = true WHERE id = \(account)")
    try await wait(for: email, by: account, in: transaction.sql)
    try await transaction.enqueue(EmailConfirmationMail(account: account))
  }

  /// Mails an address again if its account still waits for its first confirmation. The caller sees the same response,
  /// and the same work is done before the mail job runs, whether or not such an account exists.
  public static func requestAgain(_ email: String, in transaction: AppTransaction) async throws {
    let accounts = try await transaction.sql.query(
      """
      SELECT id FROM accounts WHERE lower(email COLLATE "C") = \(email) AND email IS NOT NULL
        AND awaits_confirmation
      """
    ).decode(Int.self)
    if let account = accounts.first { try await wait(for: email, by: account, in: transaction.sql) }
    try await transaction.enqueue(EmailConfirmationMail(account: accounts.first))
  }

  private static func wait(for email: String, by account: Int, in transaction: PostgresTransaction) async throws {
    try await transaction.execute(
      """
      INSERT INTO email_changes (account_id, email, expires_at)
      VALUES (\(account), \(email), now() + make_interval(hours => \(hours)))
      ON CONFLICT (account_id) DO UPDATE SET email = excluded.email, expires_at = excluded.expires_at
      """)
  }

  /// Normalizes an address to its stored form.
  ///
  /// - Throws: `invalid_email`.
  public static func address(_ text: String) throws(SocialError) -> String {
    let email = NormalForm.compared(text)
    try FieldRules.email(email)
    return email
  }

  /// Counts a request for a mail to an address.
  ///
  /// - Throws: `too_many_attempts`.
  public static func allow(_ email: String, from client: ClientAddress, attempts: AttemptBook) async throws {
    try await attempts.count(AttemptLimit.resetByClient.by(client.key))
    try await attempts.count(AttemptLimit.resetOfAddress.by(email))
  }

  /// The address that an account is waiting to confirm, with the account's username and a new token.
  ///
  /// - Returns: nil if no address is waiting anymore.
  static func issue(
    for account: Int, in transaction: PostgresTransaction
  ) async throws -> (username: String, email: String, token: SessionToken)? {
    let token = SessionToken()
    let waiting = try await transaction.query(
      """
      SELECT a.username, c.email FROM email_changes c JOIN accounts a ON a.id = c.account_id
      WHERE c.account_id = \(account) AND c.expires_at > now() FOR SHARE OF c
      """
    ).decode(String.self, String.self)
    guard let (username, email) = waiting.first else { return nil }
    try await transaction.execute(
      "INSERT INTO email_tokens (token_hash, account_id, email) VALUES (\(token.hash), \(account), \(email))")
    return (username, email, token)
  }

  /// Sets the address that a token confirms. Ends the account's password reset tokens, which the old address may have
  /// received.
  ///
  /// - Throws: `confirmation_expired`, `email_taken`, `too_many_attempts`.
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
      try await transact { try await use(token, in: $0.sql) }
    } catch let error as SocialError where error.code == .confirmationExpired {
      // A 256-bit token cannot be guessed; the limit stops clients that try anyway.
      try await attempts.count(attempt)
      throw error
    }
  }

  private static func use(_ token: SessionToken, in transaction: PostgresTransaction) async throws {
    // Locks the account first, as all transactions do.
    let accounts = try await transaction.query(
      """
      SELECT a.id FROM accounts a JOIN email_tokens t ON t.account_id = a.id WHERE t.token_hash = \(token.hash)
      FOR NO KEY UPDATE OF a
      """
    ).decode(Int.self)
    guard let account = accounts.first else { throw expired }
    let changed: Int
    do {
      changed = try await transaction.execute(
        """
        UPDATE accounts a SET email = c.email, awaits_confirmation = false
        FROM email_changes c JOIN email_tokens t ON t.account_id = c.account_id AND t.email = c.email
        WHERE t.token_hash = \(token.hash) AND a.id = \(account) AND c.account_id = a.id AND c.expires_at > now()
        """)
    } catch {
      if let taken = taken(by: error) { throw taken }
      throw error
    }
    guard changed == 1 else { throw expired }
    // The row's tokens are deleted with it.
    try await transaction.execute("DELETE FROM email_changes WHERE account_id = \(account)")
    try await PasswordResets.endAll(of: account, in: transaction)
  }

  /// Sets an account's address on behalf of an operator.
  ///
  /// - Throws: `invalid_email`, `email_taken`.
  public static func set(_ email: String, of account: Int, in transaction: PostgresTransaction) async throws {
    let email = try address(email)
    do {
      try await transaction.execute(
        "UPDATE accounts SET email = \(email), awaits_confirmation = false WHERE id = \(account)")
    } catch {
      if let taken = taken(by: error) { throw taken }
      throw error
    }
    try await transaction.execute("DELETE FROM email_changes WHERE account_id = \(account)")
    try await PasswordResets.endAll(of: account, in: transaction)
  }

  /// The error for an address that another account has; nil for other errors.
  static func taken(by error: PostgresError) -> SocialError? {
    error.constraint == "accounts_email_key" ? taken : nil
  }

  private static var taken: SocialError {
    SocialError(.emailTaken, "an account already has this email address: sign in to it", field: "email")
  }

  private static var expired: SocialError {
    SocialError(
      .confirmationExpired,
      "the token was used, is older than a day, or was replaced by a later request: request a new one")
  }

  /// Deletes addresses that were not confirmed in time.
  ///
  /// - Returns: how many, at most `limit`.
  static func sweep(upTo limit: Int, in transaction: PostgresTransaction) async throws -> Int {
    try await transaction.execute(
      """
      DELETE FROM email_changes WHERE account_id IN (
        SELECT account_id FROM email_changes WHERE expires_at <= now() ORDER BY expires_at LIMIT \(limit)
        FOR UPDATE SKIP LOCKED)
      """)
  }
}
