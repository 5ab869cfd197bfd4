import CurlClient
import DurableJobs
import DurableJobsPostgres
import Logging

/// Writes to an account's owner how to choose another password.
///
/// The mail is sent at least once, under the job's id. Each attempt makes a token of its own, which stands nowhere but
/// in the mail; the payload is shown to operators. The tokens of earlier attempts go on working: their mails may have
/// arrived although the attempts failed, and a mailbox that knows the Message-ID keeps the first and drops the next.
public struct PasswordResetMail: Job {
  public static let kind: JobKind = "accounts.password-reset-mail"
  public static let queue = SocialJobs.mailQueue
  /// Somebody waits for it: it is tried for about half an hour.
  public static let retry = RetryPolicy(maxAttempts: 12, base: .seconds(2), cap: .seconds(600))
  public static let timeout: Duration? = .seconds(120)

  /// Nil where nobody has the address that was asked for; then there is nothing to do.
  public var account: Int?

  public init(account: Int?) { self.account = account }

  func run(_ mailer: PasswordResetMailer?, _ context: JobContext<PostgresLedger>) async throws {
    guard let account else { return }
    guard let mailer else { throw NoMailServer() }
    do {
      try await mailer.write(to: account, as: context.id)
    } catch let error as MailError where error.code == .cancelled {
      throw CancellationError()
    } catch let error as MailError where error.code == .invalid {
      // No attempt will find another address there.
      context.logger.notice("an account's address takes no mail", metadata: ["account": "\(account)"])
    }
  }
}

/// A process that hands mail to no server was given one to send.
struct NoMailServer: Error, CustomStringConvertible {
  let description = "this worker was started without FANMILL_MAIL_URL, the server to which it would hand the mail"
}
