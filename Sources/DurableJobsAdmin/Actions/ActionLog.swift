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
  private let pool: PostgresPool

  public init(pool: PostgresPool) {
    self.pool = pool
  }

  /// Notes an action in the transaction that does it: both take effect or neither.
  ///
  /// - Throws: `.forbidden` for an actor who may only look.
  public static func record(
    _ action: String, _ subject: String, detail: [String: String] = [:], by actor: Operator,
    in transaction: PostgresTransaction
  ) async throws {
    try actor.mustBeAbleToAct()
    try await transaction.execute(entry(action, subject, detail, actor))
  }

  /// Notes an action that is done elsewhere than in Postgres, before it is done.
  ///
  /// - Throws: `.forbidden` for an actor who may only look.
  public func record(
    _ action: String, _ subject: String, detail: [String: String] = [:], by actor: Operator
  ) async throws {
    try actor.mustBeAbleToAct()
    try await pool.execute(try Self.entry(action, subject, detail, actor))
  }

  private static func entry(
    _ action: String, _ subject: String, _ detail: [String: String], _ actor: Operator
  ) throws -> PostgresQuery {
    let json = detail.isEmpty ? nil : PostgresJSON(Array(try JSONEncoder().encode(detail)))
    return """
      INSERT INTO actions (actor, role, action, subject, detail)
      VALUES (\(actor.name), \(actor.role.rawValue), \(action), \(subject), \(json))
      """
  }

  /// - Parameters:
  ///   - before: the `next` of an earlier page.
  ///   - subject: only what was done to this.
  ///   - limit: 1 to 100,000.
  public func page(before: Int? = nil, subject: String? = nil, limit: Int = 50) async throws -> ActionPage {
    try OperationError.check(limit: limit)
    var query: PostgresQuery =
      """
      SELECT id, at, actor, role, action, subject, detail FROM actions WHERE id < \(before ?? .max)
      ORDER BY id DESC LIMIT \(limit + 1)
      """
    if let subject {
      query = """
        SELECT id, at, actor, role, action, subject, detail FROM actions
        WHERE subject = \(subject) AND id < \(before ?? .max) ORDER BY id DESC LIMIT \(limit + 1)
        """
    }
    let found = try await pool.query(query).map { row in
      let (id, at, actor, role, action, subject, detail) = try row.decode(
        Int.self, Date.self, String.self, String.self, String.self, String.self, PostgresJSON?.self)
      return ActionEntry(
        id: id, at: at, actor: actor, role: role, action: action, subject: subject,
        detail: try detail.map { try JSONDecoder().decode([String: String].self, from: Data($0.bytes)) } ?? [:])
    }
    let items = Array(found.prefix(limit))
    return ActionPage(items: items, next: found.count > limit ? items.last?.id : nil)
  }
}
