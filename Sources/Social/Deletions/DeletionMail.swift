import CurlClient
import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Mails the owner of an account without a password a token that deletes it.
public struct DeletionMail: Job {
  public static let kind: JobKind = "accounts.deletion-mail"
  public static let queue = SocialJobs.mailQueue
  /// The owner is waiting for the mail, so the job is retried for about half an hour.
  public static let retry = RetryPolicy(maxAttempts: 12, base: .seconds(2), cap: .seconds(600))
  public static let timeout: Duration? = .seconds(120)

  public var account: Int

  func run(_ mailer: Mailer?, _ context: JobContext<PostgresLedger>) async throws {
    try await Mailer.run(mailer, context, about: account) { mailer in
      // Committed before sending, so a token that arrives is valid.
      let issued = try await mailer.pool.transaction { try await Deletions.issue(for: account, in: $0) }
      guard let (name, email, token) = issued else { return }
      let how =
        if let link = mailer.deletionLink {
          "To delete it, open this address within a day:\n\n\(link.address(with: token))"
        } else {
          "To delete it, enter this token within a day:\n\n\(token.text)"
        }
      try await mailer.send(
        "Delete your account", to: try MailAddress(email), as: context.id,
        """
        Hello \(name),

        You asked to delete your account and everything in it. This cannot be undone. \(how)

        If this was not you, ignore this mail.

        """)
    }
  }
}
