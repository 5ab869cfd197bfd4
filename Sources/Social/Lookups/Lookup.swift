import Foundation
import LibPQClient

/// A YouTube query in progress. All requests for the same question share it while it is open.
public struct Lookup: Sendable, Hashable {
  /// The state of a lookup.
  public enum State: String, Sendable, CaseIterable, Codable {
    case waiting
    case running
    /// The budget is spent; the lookup resumes at `retryAt`.
    case parked
    case done
    case failed

    /// Whether an answer can still arrive.
    public var isOpen: Bool { self != .done && self != .failed }
  }

  public let id: UUID
  /// The question as it was parsed.
  public let question: String
  public let state: State
  /// The final or latest error, for programs: YouTube's own code, or one of ours, with an underscore.
  public let reason: String?
  /// The same error for display.
  public let message: String?
  /// When a parked lookup resumes.
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
