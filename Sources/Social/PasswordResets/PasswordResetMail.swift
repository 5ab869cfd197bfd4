import CurlClient
import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Mails a password reset link to an account's owner.
public struct PasswordResetMail: Job {
  public static let kind: JobKind = "accounts.password-reset-mail"
  public static let queue = SocialJobs.mailQueue
  /// The owner is waiting for the mail, so the job is retried for about half an hour.
  public static let retry = RetryPolicy(maxAttempts: 12, base: .seconds(2), cap: .seconds(600))
  public static let timeout: Duration? = .seconds(120)

  /// Nil if no account has the requested address; the job then does nothing.
  public var account: Int?

  public init(account: Int?) { self.account = account }

  func run(_ mailer: Mailer?, _ context: JobContext<PostgresLedger>) async throws {
    guard let account else { return }
    try await Mailer.run(mailer, context, about: account) { mailer in
      let accounts = try await mailer.pool.query("SELECT email, username FROM accounts WHERE id = \(account)")
        .decode(String?.self, String.self)
      guard let (email, username) = accounts.first, let email else { return }
      let address = try MailAddress(email)
      // Committed before sending, so a link that arrives is valid.
      let token = try await mailer.pool.transaction { try await PasswordResets.issue(for: account, in: $0) }
      try await mailer.send(
        "Choose a new password", to: address, as: context.id,
        """
        Hello \(username),

        Someone asked to reset your account's password. To choose a new one, open this address within an hour:

        \(mailer.resetLink.address(with: token))

        If this was not you, ignore this mail: your password stays the same.

        """)
    }
  }
}
