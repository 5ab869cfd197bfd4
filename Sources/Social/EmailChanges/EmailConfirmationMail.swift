import CurlClient
import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Mails a confirmation token to an account's new address.
public struct EmailConfirmationMail: Job {
  public static let kind: JobKind = "accounts.email-confirmation-mail"
  public static let queue = SocialJobs.mailQueue
  /// The owner is waiting for the mail, so the job is retried for about half an hour.
  public static let retry = RetryPolicy(maxAttempts: 12, base: .seconds(2), cap: .seconds(600))
  public static let timeout: Duration? = .seconds(120)

  /// Nil if no account is waiting for the requested address; the job then does nothing.
  public var account: Int?

  public init(account: Int?) { self.account = account }

  func run(_ mailer: Mailer?, _ context: JobContext<PostgresLedger>) async throws {
    guard let account else { return }
    try await Mailer.run(mailer, context, about: account) { mailer in
      // Committed before sending, so a token that arrives is valid.
      let issued = try await mailer.pool.transaction { try await EmailChanges.issue(for: account, in: $0) }
      guard let (name, email, token) = issued else { return }
      let how =
        if let link = mailer.confirmationLink {
          "To confirm it, open this address within a day:\n\n\(link.address(with: token))"
        } else {
          "To confirm it, enter this token within a day:\n\n\(token.text)"
        }
      try await mailer.send(
        "Confirm your email address", to: try MailAddress(email), as: context.id,
        """
        Hello \(name),

        This address was given as the email address of your account. \(how)

        If you have no such account, ignore this mail.

        """)
    }
  }
}
