import CurlClient
import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Writes to an account's owner how to choose another password.
public struct PasswordResetMail: Job {
  public static let kind: JobKind = "accounts.password-reset-mail"
  public static let queue = SocialJobs.mailQueue
  /// Somebody waits for it: it is tried for about half an hour.
  public static let retry = RetryPolicy(maxAttempts: 12, base: .seconds(2), cap: .seconds(600))
  public static let timeout: Duration? = .seconds(120)

  /// Nil where nobody has the address that was asked for; then there is nothing to do.
  public var account: Int?

  public init(account: Int?) { self.account = account }

  func run(_ mailer: Mailer?, _ context: JobContext<PostgresLedger>) async throws {
    guard let account else { return }
    try await Mailer.run(mailer, context, about: account) { mailer in
      let accounts = try await mailer.pool.query("SELECT email, username FROM accounts WHERE id = \(account)")
        .decode(String?.self, String.self)
      guard let (email, username) = accounts.first, let email else { return }
      let address = try MailAddress(email)
      // Committed before it is sent: a link that arrives works.
      let token = try await mailer.pool.transaction { try await PasswordResets.issue(for: account, in: $0) }
      try await mailer.send(
        "Choose a new password", to: address, as: context.id,
        """
        Hello \(username),

        somebody has asked for a new password for your account. To choose one, open this address within an hour:

        \(mailer.resetLink.address(with: token))

        If it was not you, do nothing: your password stays as it is.

        """)
    }
  }
}
