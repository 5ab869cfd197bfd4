import CurlClient
import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Mails a notice to its account. Without a mail server or an address, only the list of notices has it.
public struct NoticeMail: Job {
  public static let kind: JobKind = "accounts.notice-mail"
  public static let queue = SocialJobs.mailQueue
  public static let retry = RetryPolicy(maxAttempts: 12, base: .seconds(2), cap: .seconds(600))
  public static let timeout: Duration? = .seconds(120)

  public var account: Int
  public var notice: Int

  func run(_ mailer: Mailer?, _ context: JobContext<PostgresLedger>) async throws {
    guard let mailer else { return }
    try await Mailer.run(mailer, context, about: account) { mailer in
      let addresses = try await mailer.pool.query(
        "SELECT username, email FROM accounts WHERE id = \(account) AND email IS NOT NULL"
      ).decode(String.self, String.self)
      guard let (name, email) = addresses.first,
        let notice = try await Notices.notice(notice, of: account, in: mailer.pool)
      else { return }
      try await mailer.send(
        notice.title, to: try MailAddress(email), as: context.id,
        """
        Hello \(name),

        \(notice.sentence)

        Reason: \(notice.reason)

        """)
    }
  }
}

extension Notice {
  fileprivate var title: String {
    switch action {
    case .takenDown: "Your \(noun) was taken down"
    case .restored: "Your \(noun) was restored"
    case .suspended: "Your account was suspended"
    case .reopened: "Your account was reopened"
    }
  }

  fileprivate var sentence: String {
    switch action {
    case .takenDown: "An operator has taken down your \(noun) (\(subject)). It is no longer visible."
    case .restored: "An operator has restored your \(noun) (\(subject)). It is shown as before."
    case .suspended: "An operator has suspended your account. It is hidden, and you cannot sign in."
    case .reopened: "An operator has reopened your account. It is as it was."
    }
  }

  private var noun: String {
    switch subject {
    case .post: "post"
    case .comment: "comment"
    case .account: "account"
    case .message: "message"
    case .picture: "picture"
    case .agreement: "agreement"
    }
  }
}
