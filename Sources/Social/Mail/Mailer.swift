import CurlClient
import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient
import Logging

/// Writes to accounts' owners, on behalf of jobs.
///
/// A mail is sent at least once, under its job's id: a mailbox that knows the Message-ID keeps the first and drops the
/// next. Each attempt makes a token of its own, which stands nowhere but in the mail; payloads are shown to operators.
/// The tokens of earlier attempts go on working: their mails may have arrived although the attempts failed.
public struct Mailer: Sendable {
  /// Hands a mail to a server.
  public typealias Post = @Sendable (MailMessage) async throws -> Void

  let pool: PostgresPool
  /// Where a new password is chosen.
  let resetLink: TokenLink
  /// Where an address is confirmed; nil for an app in which the token is typed.
  let confirmationLink: TokenLink?
  /// Where an account is deleted; likewise.
  let deletionLink: TokenLink?
  private let from: MailAddress
  private let post: Post

  /// - Parameter from: whom the mails are from.
  public init(
    pool: PostgresPool, from: MailAddress, resetLink: TokenLink, confirmationLink: TokenLink? = nil,
    deletionLink: TokenLink? = nil, post: @escaping Post
  ) {
    self.pool = pool
    self.from = from
    self.resetLink = resetLink
    self.confirmationLink = confirmationLink
    self.deletionLink = deletionLink
    self.post = post
  }

  /// - Parameter id: the job's.
  /// - Throws: `MailError`.
  func send(_ subject: String, to address: MailAddress, as id: JobID, _ text: String) async throws {
    try await post(
      MailMessage(
        to: address, from: from, subject: subject, text: text, id: id.description, date: JobClock.now))
  }

  /// Sends a job's mail, as `body` does with the mailer.
  ///
  /// - Throws: what makes sense to try again; where no mailer is set, that.
  static func run(
    _ mailer: Mailer?, _ context: JobContext<PostgresLedger>, about account: Int, _ body: (Mailer) async throws -> Void
  ) async throws {
    guard let mailer else { throw NoMailServer() }
    do {
      try await body(mailer)
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
