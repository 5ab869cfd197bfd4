import CurlClient
import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient
import Logging

/// Sends mail to accounts' owners, on behalf of jobs.
///
/// A mail is sent at least once, with its job's id as the Message-ID: a mailbox that deduplicates by Message-ID keeps
/// the first and drops the rest. Each attempt creates its own token, which is only in the mail, because payloads are
/// shown to operators. The tokens of earlier attempts stay valid: their mails may have arrived although the attempts
/// failed.
public struct Mailer: Sendable {
  /// Submits a mail to a server.
  public typealias Post = @Sendable (MailMessage) async throws -> Void

  let pool: PostgresPool
  /// The page where a new password is chosen.
  let resetLink: TokenLink
  /// The page where an address is confirmed; nil for an app where the user enters the token.
  let confirmationLink: TokenLink?
  /// The page where an account is deleted; nil for an app where the user enters the token.
  let deletionLink: TokenLink?
  /// Where an account's export is fetched; nil for an app where the user enters the token.
  let exportLink: TokenLink?
  private let from: MailAddress
  private let post: Post

  /// - Parameter from: the sender of the mails.
  public init(
    pool: PostgresPool, from: MailAddress, resetLink: TokenLink, confirmationLink: TokenLink? = nil,
    deletionLink: TokenLink? = nil, exportLink: TokenLink? = nil, post: @escaping Post
  ) {
    self.pool = pool
    self.from = from
    self.resetLink = resetLink
    self.confirmationLink = confirmationLink
    self.deletionLink = deletionLink
    self.exportLink = exportLink
    self.post = post
  }

  /// - Parameter id: the job's id.
  /// - Throws: `MailError`.
  func send(_ subject: String, to address: MailAddress, as id: JobID, _ text: String) async throws {
    try await post(
      MailMessage(
        to: address, from: from, subject: subject, text: text, id: id.description, date: JobClock.now))
  }

  /// Sends a job's mail by calling `body` with the mailer.
  ///
  /// - Throws: errors worth a retry; `NoMailServer` if no mailer is set.
  static func run(
    _ mailer: Mailer?, _ context: JobContext<PostgresLedger>, about account: Int, _ body: (Mailer) async throws -> Void
  ) async throws {
    guard let mailer else { throw NoMailServer() }
    do {
      try await body(mailer)
    } catch let error as MailError where error.code == .cancelled {
      throw CancellationError()
    } catch let error as MailError where error.code == .invalid {
      // The address is invalid, so a retry cannot succeed.
      context.logger.notice("an account's address rejects mail", metadata: ["account": "\(account)"])
    }
  }
}

/// A process without a mail server received a mail job.
struct NoMailServer: Error, CustomStringConvertible {
  let description = "this worker cannot send mail: FANMILL_MAIL_URL is not set"
}
