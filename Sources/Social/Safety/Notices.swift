import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// A message from operators to an account about its content or the account itself.
public struct Notice: Sendable, Hashable {
  public enum Action: String, Sendable {
    case takenDown = "taken_down"
    case restored
    case suspended
    case reopened
  }

  /// Increases over time.
  public let id: Int
  public let action: Action
  public let subject: Subject
  public let reason: String
  public let createdAt: Date
}

/// Stores notices, and mails them.
public enum Notices {
  static func add(
    _ action: Notice.Action, _ subject: Subject, because reason: String, to account: Int,
    in transaction: AppTransaction
  ) async throws {
    let id = try await transaction.sql.query(
      """
      INSERT INTO notices (account_id, action, subject, reason)
      VALUES (\(account), \(action.rawValue), \(subject.description), \(reason)) RETURNING id
      """)[0].decode(Int.self)
    try await transaction.enqueue(NoticeMail(account: account, notice: id))
  }

  /// A page of an account's notices, newest first. The cursor is the last one's id.
  public static func list(of account: Int, _ page: PageRequest, in reader: some SocialReader) async throws -> Page<
    Notice
  > {
    let rows = try await reader.rows(
      """
      SELECT \(unescaped: columns) FROM notices WHERE account_id = \(account) AND id < \(page.cursor)
      ORDER BY id DESC LIMIT \(page.limit + 1)
      """)
    return Page(try rows.map(notice), limit: page.limit, cursor: \.id)
  }

  static func notice(_ id: Int, of account: Int, in reader: some SocialReader) async throws -> Notice? {
    try await reader.rows(
      "SELECT \(unescaped: columns) FROM notices WHERE account_id = \(account) AND id = \(id)"
    ).map(notice).first
  }

  private static let columns = "id, action, subject, reason, created_at"

  private static func notice(_ row: PostgresRow) throws -> Notice {
    let (id, action, subject, reason, date) = try row.decode(
      Int.self, String.self, String.self, String.self, Date.self)
    guard let action = Notice.Action(rawValue: action), let subject = Subject(subject) else {
      throw PostgresError(.decoding, "the notice \(id) is about '\(action) \(subject)', which is unknown")
    }
    return Notice(id: id, action: action, subject: subject, reason: reason, createdAt: date)
  }
}
