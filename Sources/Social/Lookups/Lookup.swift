import Foundation
import LibPQClient

/// A question on its way to YouTube and back. All who ask the same while it is open share it.
public struct Lookup: Sendable, Hashable {
  /// How far it has come.
  public enum State: String, Sendable, CaseIterable, Codable {
    case waiting
    case running
    /// The budget is spent; it goes on at `retryAt`.
    case parked
    case done
    case failed

    /// Whether an answer may still come.
    public var isOpen: Bool { self != .done && self != .failed }
  }

  public let id: UUID
  /// As it was understood.
  public let question: String
  public let state: State
  /// What went wrong, at last or so far, for programs: the service's own word, or one of ours with an underscore.
  public let reason: String?
  /// The same for people.
  public let message: String?
  /// When a parked lookup goes on.
  public let retryAt: Date?
  public let createdAt: Date
  public let endedAt: Date?

  static let columns = "id, question, state, reason, message, retry_at, created_at, ended_at"

  init(row: PostgresRow) throws(PostgresError) {
    id = try UUID(postgres: row[0])
    question = try String(postgres: row[1])
    state = State(rawValue: try String(postgres: row[2])) ?? .waiting
    reason = try String?(postgres: row[3])
    message = try String?(postgres: row[4])
    retryAt = try Date?(postgres: row[5])
    createdAt = try Date(postgres: row[6])
    endedAt = try Date?(postgres: row[7])
  }
}
