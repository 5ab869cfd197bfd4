import DurableJobsPostgres
import Foundation
import LibPQClient

/// One entry of the action log.
public struct ActionEntry: Codable, Sendable, Hashable {
  public let id: Int
  public let at: Date
  public let actor: String
  public let role: String
  /// The action's name, such as `jobs.cancel`.
  public let action: String
  /// The target: a job's id, or the name of a queue, a worker or a schedule.
  public let subject: String
  /// Further details.
  public let detail: [String: String]
}

/// A page of actions, newest first.
public struct ActionPage: Codable, Sendable {
  public let items: [ActionEntry]
  /// The cursor of the next page; nil at the end.
  public let next: Int?
}

/// The log of operators' actions, from the terminal and the dashboard.
public struct ActionLog: Sendable {
  private let database: JobsDatabase

  public init(_ database: JobsDatabase) {
    self.database = database
  }

  /// Records an action in the transaction that performs it: both take effect or neither.
  ///
  /// - Throws: `.forbidden` for a read-only actor.
  public func record(
    _ action: String, _ subject: String, detail: [String: String] = [:], by actor: Operator,
    in transaction: PostgresTransaction
  ) async throws {
    try await database.schema.note(try Self.entry(action, subject, detail, actor), in: transaction)
  }

  /// Records an action on something outside Postgres, before it is performed.
  ///
  /// - Throws: `.forbidden` for a read-only actor.
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
  ///   - subject: returns only the actions on this target.
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
