#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import LibPQClient

/// An operator's action.
package struct ActionRow: Sendable, Hashable {
  package let id: Int
  package let at: Date
  package let actor: String
  package let role: String
  /// The action's name, such as `jobs.cancel`.
  package let action: String
  package let subject: String
  package let detail: [String: String]

  fileprivate static let columns = "id, at, actor, role, action, subject, detail"

  fileprivate init(_ row: PostgresRow) throws {
    let detail: PostgresJSON?
    (id, at, actor, role, action, subject, detail) = try row.decode(
      Int.self, Date.self, String.self, String.self, String.self, String.self, PostgresJSON?.self)
    self.detail = try detail.map { try JSONDecoder().decode([String: String].self, from: Data($0.bytes)) } ?? [:]
  }
}

/// An action to record.
package struct NewAction: Sendable {
  package let actor: String
  package let role: String
  package let action: String
  package let subject: String
  package let detail: [String: String]

  package init(actor: String, role: String, action: String, subject: String, detail: [String: String]) {
    self.actor = actor
    self.role = role
    self.action = action
    self.subject = subject
    self.detail = detail
  }
}

extension JobsSchema {
  /// Records an action in the transaction that carries it out.
  package func note(_ action: NewAction, in transaction: PostgresTransaction) async throws {
    try await transaction.execute(try insertion(of: action))
  }

  fileprivate func insertion(of action: NewAction) throws -> PostgresQuery {
    let json = action.detail.isEmpty ? nil : PostgresJSON(Array(try JSONEncoder().encode(action.detail)))
    return """
      INSERT INTO \(actions) (actor, role, action, subject, detail)
      VALUES (\(action.actor), \(action.role), \(action.action), \(action.subject), \(json))
      """
  }
}

extension JobsDatabase {
  /// Records an action that is carried out elsewhere.
  package func note(_ action: NewAction) async throws { try await pool.execute(try schema.insertion(of: action)) }

  /// Actions, newest first.
  ///
  /// - Parameters:
  ///   - before: only ids below this one; nil starts at the newest.
  ///   - subject: nil for all.
  package func actions(before: Int? = nil, subject: String? = nil, limit: Int) async throws -> [ActionRow] {
    // Each query has its own index.
    let query: PostgresQuery =
      if let subject {
        """
        SELECT \(unescaped: ActionRow.columns) FROM \(schema.actions)
        WHERE subject = \(subject) AND id < \(before ?? .max) ORDER BY id DESC LIMIT \(limit)
        """
      } else {
        """
        SELECT \(unescaped: ActionRow.columns) FROM \(schema.actions) WHERE id < \(before ?? .max)
        ORDER BY id DESC LIMIT \(limit)
        """
      }
    return try await pool.query(query).map { try ActionRow($0) }
  }

  /// Any action of this name on a subject; nil if there is none.
  package func action(_ action: String, on subject: String) async throws -> ActionRow? {
    try await pool.query(
      """
      SELECT \(unescaped: ActionRow.columns) FROM \(schema.actions)
      WHERE subject = \(subject) AND action = \(action) LIMIT 1
      """
    ).first.map { try ActionRow($0) }
  }
}
