import CurlClient
import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Writes to the address that an account is to have how to confirm it.
public struct EmailConfirmationMail: Job {
  public static let kind: JobKind = "accounts.email-confirmation-mail"
  public static let queue = SocialJobs.mailQueue
  /// Somebody waits for it: it is tried for about half an hour.
  public static let retry = RetryPolicy(maxAttempts: 12, base: .seconds(2), cap: .seconds(600))
  public static let timeout: Duration? = .seconds(120)

  /// Nil where no account waits for the address that was asked for; then there is nothing to do.
  public var account: Int?

  public init(account: Int?) { self.account = account }

  func run(_ mailer: Mailer?, _ context: JobContext<PostgresLedger>) async throws {
    guard let account else { return }
    try await Mailer.run(mailer, context, about: account) { mailer in
      // Committed before it is sent: a token that arrives works.
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

        this is to be the email address of your account. \(how)

        If you have no such account, do nothing.

        """)
    }
  }
}
