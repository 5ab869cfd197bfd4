import CurlClient
import DurableJobs
import Foundation
import LibPQClient

/// Writes and sends the mails that bear tokens for new passwords.
public struct PasswordResetMailer: Sendable {
  /// Hands a mail to a server.
  public typealias Post = @Sendable (MailMessage) async throws -> Void

  private let pool: PostgresPool
  private let from: MailAddress
  private let link: PasswordResetLink
  private let post: Post

  /// - Parameters:
  ///   - from: whom the mails are from.
  ///   - link: what stands in them.
  public init(pool: PostgresPool, from: MailAddress, link: PasswordResetLink, post: @escaping Post) {
    self.pool = pool
    self.from = from
    self.link = link
    self.post = post
  }

  /// Makes a token for an account and sends it to its address. Nothing happens where the account has none, or is gone.
  ///
  /// - Parameter id: the job's.
  /// - Throws: `MailError`; of code `.invalid` for an address that takes no mail.
  func write(to account: Int, as id: JobID) async throws {
    let accounts = try await pool.query("SELECT email, username FROM accounts WHERE id = \(account)")
      .decode(String?.self, String.self)
    guard let (email, username) = accounts.first, let email else { return }
    let address = try MailAddress(email)
    // Committed before it is sent: a link that arrives works.
    let token = try await pool.transaction { try await PasswordResets.issue(for: account, in: $0) }
    try await post(
      MailMessage(
        to: address, from: from, subject: "Choose a new password",
        text: """
          Hello \(username),

          somebody has asked for a new password for your account. To choose one, open this address within an hour:

          \(link.address(with: token))

          If it was not you, do nothing: your password stays as it is.

          """,
        id: id.description, date: JobClock.now))
  }
}
