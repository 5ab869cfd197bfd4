import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Exports of accounts for their owners: requested, made by a job, announced by mail, and removed after a week.
///
/// The mail has a token, of which only the hash is stored. Whoever has it can fetch the file, since browsers that
/// follow a link from a mail have no session.
public enum AccountExports {
  /// How long a finished export and its tokens last, in days.
  public static let days: Int32 = 7

  /// Counts a request for an export.
  ///
  /// - Throws: `too_many_attempts`.
  public static func allow(_ account: Int, from client: ClientAddress, attempts: AttemptBook) async throws {
    try await attempts.count(AttemptLimit.resetByClient.by(client.key))
    try await attempts.count(AttemptLimit.resetOfAddress.by("export \(account)"))
  }

  /// Enqueues an export, unless one of the account is being made. An account whose last export is less than a day old
  /// gets another link to that one. One that was not made within a day is enqueued again: its job may have been given
  /// up.
  ///
  /// - Throws: `no_email` if the link could not be sent; `not_found` for a deleted account.
  public static func request(_ account: Int, in transaction: AppTransaction) async throws {
    let sql = transaction.sql
    let addresses = try await sql.query("SELECT email FROM accounts WHERE id = \(account) FOR SHARE")
      .decode(String?.self)
    guard let address = addresses.first else { throw SocialError.notFound("account") }
    guard address != nil else {
      throw SocialError(
        .noEmail,
        "the account has no email address for the link: set one with PUT /v1/me/email, or ask its operator, "
          + "`fanmill export account NAME --to FILE`")
    }
    let recent = try await sql.query(
      """
      SELECT id FROM account_exports
      WHERE account_id = \(account) AND file_id IS NOT NULL AND requested_at > now() - interval '1 day'
        AND expires_at > now() + interval '1 day'
      ORDER BY id DESC LIMIT 1
      """
    ).decode(Int.self)
    if let export = recent.first {
      try await transaction.enqueue(AccountExportMail(export: export))
      return
    }
    let begun = try await sql.query(
      """
      INSERT INTO account_exports AS e (account_id) VALUES (\(account))
      ON CONFLICT (account_id) WHERE expires_at IS NULL DO UPDATE SET requested_at = excluded.requested_at
        WHERE e.requested_at <= now() - interval '1 day'
      RETURNING id
      """
    ).decode(Int.self)
    if let export = begun.first { try await transaction.enqueue(AccountExport(export: export)) }
  }

  /// Issues a token for a finished export, and returns it with the recipient.
  ///
  /// - Returns: nil if the export is gone, or the account no longer has an email address.
  static func issue(
    for export: Int, in transaction: PostgresTransaction
  ) async throws -> (username: String, email: String, token: SessionToken)? {
    let rows = try await transaction.query(
      """
      SELECT a.username, a.email FROM account_exports e JOIN accounts a ON a.id = e.account_id
      WHERE e.id = \(export) AND e.file_id IS NOT NULL AND e.expires_at > now() AND a.email IS NOT NULL FOR SHARE
      """
    ).decode(String.self, String.self)
    guard let (username, email) = rows.first else { return nil }
    let token = SessionToken()
    try await transaction.execute(
      "INSERT INTO account_export_tokens (token_hash, export_id) VALUES (\(token.hash), \(export))")
    return (username, email, token)
  }

  /// The file of the export that a token belongs to.
  ///
  /// An unknown token counts against the client. A valid one does not, since 256 bits cannot be guessed.
  ///
  /// - Throws: `not_found`, `too_many_attempts`.
  public static func file(
    of text: String, from client: ClientAddress, attempts: AttemptBook, in pool: PostgresPool
  ) async throws -> MediaFile {
    let attempt = AttemptLimit.resetTokenByClient.by(client.key)
    try attempts.refuseAgain(attempt)
    if let token = SessionToken(text) {
      let files = try await pool.query(
        """
        SELECT e.file_id FROM account_export_tokens t JOIN account_exports e ON e.id = t.export_id
        JOIN accounts a ON a.id = e.account_id
        WHERE t.token_hash = \(token.hash) AND e.file_id IS NOT NULL AND e.expires_at > now()
          AND a.suspended_at IS NULL
        """
      ).decode(String.self)
      if let file = files.first { return MediaFile(id: file) }
    }
    try await attempts.count(attempt)
    throw SocialError.notFound("export: links last for a week; request another with POST /v1/me/export")
  }

  /// Removes expired exports. Their files follow by the job `media.remove`.
  ///
  /// - Returns: how many, at most `limit`.
  static func sweep(upTo limit: Int, in transaction: PostgresTransaction) async throws -> Int {
    let gone = try await transaction.query(
      """
      WITH gone AS (
        DELETE FROM account_exports WHERE id IN (
          SELECT id FROM account_exports WHERE expires_at <= now() ORDER BY expires_at LIMIT \(limit)
          FOR UPDATE SKIP LOCKED)
        RETURNING file_id
      ), files AS (
        INSERT INTO media_removals (file_id) SELECT file_id FROM gone WHERE file_id IS NOT NULL ON CONFLICT DO NOTHING
      )
      SELECT count(*) FROM gone
      """)
    return try gone[0].decode(Int.self)
  }
}
