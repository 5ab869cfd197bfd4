import DurableJobs
import Foundation
import LibPQClient

/// Stores users' reports for operators.
public enum Reports {
  /// The reason for a report.
  public enum Reason: String, Sendable, CaseIterable {
    case spam
    case harassment
    case hate
    case nudity
    case violence
    case selfHarm = "self_harm"
    case impersonation
    case copyright
    case other
  }

  /// The subject of a user's report.
  public enum Target: Sendable, Hashable {
    case post(Int)
    case comment(Int, post: Int)
    case user(String)
    /// A message that the user received.
    case message(Int)
    /// An agreement that the user is a party to, or the meeting that it was to come from.
    case agreement(Int)
  }

  /// A new report, validated on creation.
  public struct Draft: Sendable, Hashable {
    public let target: Target
    public let reason: Reason
    public let text: String

    /// - Throws: `invalid_reason`, `invalid_text`.
    public init(_ target: Target, reason: String, text: String = "") throws(SocialError) {
      guard let known = Reason(rawValue: reason) else {
        let all = Reason.allCases.map(\.rawValue).joined(separator: ", ")
        throw .invalid("reason", "must be one of \(all)")
      }
      try FieldRules.text(text, "text", 0...1000)
      self.target = target
      self.reason = known
      self.text = text
    }
  }

  /// How many reports an account may make per hour.
  public static let limit = 30

  /// Reports something visible to the reporter. Reporting it again changes nothing while the report is open.
  ///
  /// - Returns: the report's id.
  /// - Throws: `not_found` if the reporter may not see it, `cannot_report_yourself`, `too_many_reports`.
  public static func create(_ draft: Draft, by reporter: Int, in transaction: PostgresTransaction) async throws -> Int {
    let (subject, account, excerpt) = try await find(draft.target, seenBy: reporter, in: transaction)
    guard account != reporter else {
      throw SocialError(.cannotReportYourself, "a report must be about another account or what it wrote")
    }
    // Serializes an account's reports, so that the limit holds.
    let rows = try await transaction.pipeline([
      "SELECT FROM accounts WHERE id = \(reporter) FOR NO KEY UPDATE",
      "SELECT id FROM reports WHERE reporter_id = \(reporter) AND subject = \(subject.description) AND resolved_at IS NULL",
      """
      SELECT count(*), ceil(extract(epoch FROM min(created_at) + interval '1 hour' - clock_timestamp()))::bigint
      FROM reports WHERE reporter_id = \(reporter) AND created_at > clock_timestamp() - interval '1 hour'
      """,
    ])
    if rows[0].isEmpty { throw SocialError.notFound("account") }
    if let known = try rows[1].decode(Int.self).first { return known }
    let (count, seconds) = try rows[2][0].decode(Int.self, Int?.self)
    guard count < limit else {
      throw SocialError(
        .tooManyReports, "an account may make at most \(limit) reports an hour", retryAfter: max(1, seconds ?? 1))
    }
    // The event names neither the reporter nor the reporter's text.
    let made = try await transaction.query(
      """
      WITH made AS (
        INSERT INTO reports (reporter_id, subject, account_id, reason, text, excerpt)
        VALUES (\(reporter), \(subject.description), \(account), \(draft.reason.rawValue), \(draft.text), \(excerpt))
        RETURNING id, subject, reason, created_at
      )
      SELECT id, \(WebhookEvents.noting(
        .reportCreated, about: "'report/' || id",
        "jsonb_build_object('report', jsonb_build_object('id', id, 'subject', subject, 'reason', reason, "
          + "'createdAt', webhook_time(created_at)))"))
      FROM made
      """)
    return try made[0].decode(Int.self, Bool.self).0
  }

  private static func find(
    _ target: Target, seenBy viewer: Int, in transaction: PostgresTransaction
  ) async throws -> (subject: Subject, account: Int, excerpt: String) {
    let rows: PostgresRows
    let subject: Subject
    switch target {
    case .post(let id):
      subject = .post(id)
      rows = try await transaction.query(
        """
        SELECT p.author_id, left(concat_ws(E'\\n', p.title, nullif(p.description, '')), 2000)
        FROM posts p WHERE p.id = \(id) AND \(Visibility.seesPost(viewer))
        """)
    case .comment(let id, let post):
      subject = .comment(id, post: post)
      rows = try await transaction.query(
        """
        SELECT c.account_id, c.text FROM comments c JOIN posts p ON p.id = c.post_id
        WHERE c.post_id = \(post) AND c.id = \(id) AND c.taken_down_at IS NULL AND \(Visibility.seesPost(viewer))
          AND \(Visibility.isVisible("c.account_id", to: viewer))
        """)
    case .user(let name):
      var account: Int
      do {
        account = try await Accounts.id(of: name, seenBy: viewer, in: transaction)
      } catch let moved as AccountMoved {
        // A body has no address to redirect to.
        account = try await Accounts.id(of: moved.to, seenBy: viewer, in: transaction)
      }
      subject = .account(account)
      rows = try await transaction.query(
        """
        SELECT id, left(concat_ws(E'\\n', username, nullif(name, ''), nullif(bio, '')), 2000) FROM accounts
        WHERE id = \(account)
        """)
    case .message(let id):
      subject = .message(id)
      rows = try await transaction.query(
        """
        SELECT m.peer_id, m.text FROM messages m JOIN accounts a ON a.id = m.peer_id
        WHERE m.owner_id = \(viewer) AND m.id = \(id) AND NOT m.is_own
          AND \(Visibility.isVisible("m.peer_id", to: viewer))
        """)
    case .agreement(let id):
      subject = .agreement(id)
      // Operators cannot read what the two wrote.
      rows = try await transaction.query(
        """
        SELECT found.peer, a.username FROM (
          SELECT CASE WHEN host_id = \(viewer) THEN joiner_id ELSE host_id END AS peer FROM agreements
          WHERE id = \(id) AND \(viewer) IN (host_id, joiner_id)
          UNION
          SELECT CASE WHEN host_id = \(viewer) THEN joiner_id ELSE host_id END FROM agreement_meetings
          WHERE id = \(id) AND \(viewer) IN (host_id, joiner_id)
        ) found JOIN accounts a ON a.id = found.peer AND \(Visibility.isVisible("a.id", to: viewer))
        """)
    }
    guard let (account, excerpt) = try rows.decode(Int.self, String.self).first else {
      switch target {
      case .post: throw SocialError.notFound("post")
      case .comment: throw SocialError.notFound("comment")
      case .user: throw SocialError.notFound("account")
      case .message: throw SocialError.notFound("message")
      case .agreement: throw SocialError.notFound("agreement")
      }
    }
    return (subject, account, excerpt)
  }

  /// The operators' decision about a report.
  public enum Resolution: String, Sendable, CaseIterable {
    case dismissed
    case takenDown = "taken_down"
    case suspended
  }

  /// Closes all open reports of a subject.
  ///
  /// - Returns: how many were closed.
  @discardableResult
  public static func resolve(
    _ subject: String, as resolution: Resolution, in transaction: PostgresTransaction
  ) async throws -> Int {
    try await transaction.execute(
      """
      UPDATE reports SET resolved_at = now(), resolution = \(resolution.rawValue)
      WHERE subject = \(subject) AND resolved_at IS NULL
      """)
  }
}
