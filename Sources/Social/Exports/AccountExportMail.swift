import CurlClient
import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Mails an account's owner the link to a finished export, or the news that it could not be made.
public struct AccountExportMail: Job {
  public static let kind: JobKind = "accounts.export-mail"
  public static let queue = SocialJobs.mailQueue
  public static let retry = RetryPolicy(maxAttempts: 12, base: .seconds(2), cap: .seconds(600))
  public static let timeout: Duration? = .seconds(120)

  public var export: Int

  public init(export: Int) { self.export = export }

  func run(_ mailer: Mailer?, _ context: JobContext<PostgresLedger>) async throws {
    let rows = try await context.ledger.database.pool.query(
      """
      SELECT a.id, a.username, a.email, e.failure IS NOT NULL FROM account_exports e
      JOIN accounts a ON a.id = e.account_id WHERE e.id = \(export) AND e.expires_at > now()
      """
    ).decode(Int.self, String.self, String?.self, Bool.self)
    guard let (account, username, email, hasFailed) = rows.first, let email else { return }
    try await Mailer.run(mailer, context, about: account) { mailer in
      if hasFailed {
        return try await mailer.send(
          "Your data", to: try MailAddress(email), as: context.id,
          """
          Hello \(username),

          The file with your account's data, which you asked for, could not be made: it would be too large. Please \
          contact the app's operator.

          """)
      }
      // Committed before sending, so a token that arrives is valid.
      let issued = try await mailer.pool.transaction { try await AccountExports.issue(for: export, in: $0) }
      guard let (username, email, token) = issued else { return }
      let how =
        if let link = mailer.exportLink {
          "To fetch it, open this address within a week:\n\n\(link.address(with: token))"
        } else {
          "To fetch it, enter this token within a week:\n\n\(token.text)"
        }
      try await mailer.send(
        "Your data", to: try MailAddress(email), as: context.id,
        """
        Hello \(username),

        The file with your account's data, which you asked for, is ready. \(how)

        Whoever has this mail can fetch the file. If you did not ask for it, change your password.

        """)
    }
  }
}
