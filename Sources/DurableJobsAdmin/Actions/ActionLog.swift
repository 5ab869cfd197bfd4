import DurableJobsPostgres
import Foundation
import LibPQClient

/// Something that somebody did.
public struct ActionEntry: Codable, Sendable, Hashable {
  public let id: Int
  public let at: Date
  public let actor: String
  public let role: String
  /// Such as `jobs.cancel`.
  public let action: String
  /// What it was done to: a job's id, the name of a queue, a worker, a schedule.
  public let subject: String
  /// What else there is to say.
  public let detail: [String: String]
}

/// A page of actions, the latest first.
public struct ActionPage: Codable, Sendable {
  public let items: [ActionEntry]
  /// What to ask for to get the next page; nil at the end.
  public let next: Int?
}

/// What operators did, at a terminal or in the dashboard.
public struct ActionLog: Sendable {
  private let database: JobsDatabase

  public init(_ database: JobsDatabase) {
    self.database = database
  }

  /// Notes an action in the transaction that does it: both take effect or neither.
  ///
  /// - Throws: `.forbidden` for an actor who may only look.
  public func record(
    _ action: String, _ subject: String, detail: [String: String] = [:], by actor: Operator,
    in transaction: PostgresTransaction
  ) async throws {
    try await database.schema.note(try Self.entry(action, subject, detail, actor), in: transaction)
  }

  /// Notes an action that is done elsewhere than in Postgres, before it is done.
  ///
  /// - Throws: `.forbidden` for an actor who may only look.
  public func record(
    _ action: String, _ subject: String, detail: [String: String] = [:], by actor: Operator
  ) async throws {
    try await database.note(try Self.entry(action, subject, detail, actor))
  }

  private static func entry(
    _ action: String, _ subject: String, _ detail: [String: String], _ actor: Operator
  ) throws(OperationError) -> NewAction {
    try actor.mustBeAbleToAct()
    return NewAction(actor: actor.name, role: actor.role.rawValue, action: action, subject: subject, detail: detail)
  }

  /// - Parameters:
  ///   - before: the `next` of an earlier page.
  ///   - subject: only what was done to this.
  ///   - limit: 1 to 100,000.
  public func page(before: Int? = nil, subject: String? = nil, limit: Int = 50) async throws -> ActionPage {
    try OperationError.check(limit: limit)
    let found = try await database.actions(before: before, subject: subject, limit: limit + 1).map { row in
      ActionEntry(
        id: row.id, at: row.at, actor: row.actor, role: row.role, action: row.action, subject: row.subject,
        detail: row.detail)
    }
    let items = Array(found.prefix(limit))
    return ActionPage(items: items, next: found.count > limit ? items.last?.id : nil)
  }
}
