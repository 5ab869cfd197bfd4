import CurlClient
import DurableJobs
import DurableJobsPostgres

/// Notifies an account's current address that a change to another was requested.
public struct EmailChangeNotice: Job {
  public static let kind: JobKind = "accounts.email-change-notice"
  public static let queue = SocialJobs.mailQueue
  public static let retry = RetryPolicy(maxAttempts: 12, base: .seconds(2), cap: .seconds(600))
  public static let timeout: Duration? = .seconds(120)

  public var account: Int
  /// The address when the change was requested; it may be replaced before this job runs.
  public var email: String

  func run(_ mailer: Mailer?, _ context: JobContext<PostgresLedger>) async throws {
    try await Mailer.run(mailer, context, about: account) { mailer in
      try await mailer.send(
        "Your email address is about to change", to: try MailAddress(email), as: context.id,
        """
        Hello,

        Your account's owner asked to change its email address. Once the new address is confirmed, this one no longer \
        belongs to the account.

        If this was not you, change your password now. That ends all sessions of your account.

        """)
    }
  }
}
