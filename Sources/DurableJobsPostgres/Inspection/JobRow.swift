#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import LibPQClient

/// A durable job's row: pending, dead, or ended.
package struct JobRow: Sendable, Hashable {
  /// The table of the row, with the columns specific to it.
  package enum Place: Sendable, Hashable {
    case pending(PendingState)
    /// When it died.
    case dead(Date)
    /// How it ended, and when.
    case ended(EndState, Date)
  }

  package let id: JobID
  package let kind: JobKind
  package let queue: QueueName
  package let place: Place
  package let priority: JobPriority
  /// Attempts recorded in the ledger.
  package let attempts: Int
  package let createdAt: Date
  /// When it is due; nil for at once.
  package let runAt: Date?
  package let uniqueKey: String?
  /// The latest error.
  package let error: String?

  /// The columns common to all tables.
  static let pending = """
    id, kind, queue, \(PendingState.column) AS state, priority, attempts, created_at, run_at,
    NULL::timestamptz AS finished_at, unique_key, failures->-1->>'error' AS error
    """
  static let dead = """
    id, kind, queue, 'dead' AS state, priority, attempts, created_at, NULL::timestamptz AS run_at,
    died_at AS finished_at, unique_key, failures->-1->>'error' AS error
    """
  static let ended = """
    id, kind, queue, state, priority, attempts, created_at, NULL::timestamptz AS run_at, ended_at AS finished_at,
    unique_key, failures->-1->>'error' AS error
    """

  init(_ row: PostgresRow) throws {
    id = JobID(try row.decode(PostgresUUID.self, named: "id"))
    kind = JobKind(rawValue: try row.decode(String.self, named: "kind"))
    queue = QueueName(rawValue: try row.decode(String.self, named: "queue"))
    let state = try row.decode(String.self, named: "state")
    place =
      if let end = try row.decode(Date?.self, named: "finished_at") {
        EndState(rawValue: state).map { .ended($0, end) } ?? .dead(end)
      } else {
        .pending(PendingState(rawValue: state) ?? .waiting)
      }
    priority = JobPriority(rawValue: UInt8(clamping: try row.decode(Int.self, named: "priority"))) ?? .normal
    attempts = try row.decode(Int.self, named: "attempts")
    createdAt = try row.decode(Date.self, named: "created_at")
    runAt = try row.decode(Date?.self, named: "run_at")
    uniqueKey = try row.decode(String?.self, named: "unique_key")
    error = try row.decode(String?.self, named: "error")
  }
}

/// The state of a pending job in the ledger, where a running job looks like a waiting one.
package enum PendingState: String, Sendable, CaseIterable {
  /// Due.
  case waiting
  /// Not due yet.
  case delayed
  /// Failed, and not yet due again.
  case retrying
  /// No worker knows its kind and version.
  case parked

  /// The SQL expression for a pending row's state.
  static let column = """
    CASE WHEN parked THEN 'parked' WHEN run_at > now() AND failures IS NOT NULL THEN 'retrying'
      WHEN run_at > now() THEN 'delayed' ELSE 'waiting' END
    """

  /// The condition of the partial index that contains all jobs of this state, and perhaps others; `true` if none does.
  var indexed: String {
    switch self {
    case .waiting: "true"
    case .delayed: "run_at IS NOT NULL"
    case .retrying: "failures IS NOT NULL"
    case .parked: "parked"
    }
  }

  /// The condition that separates the state's jobs from the others in that index.
  var rest: String {
    switch self {
    case .waiting: "NOT parked AND (run_at IS NULL OR run_at <= now())"
    case .delayed: "NOT parked AND run_at > now() AND failures IS NULL"
    case .retrying: "NOT parked AND run_at > now()"
    case .parked: "true"
    }
  }
}

/// The recorded end of a job.
package enum EndState: String, Sendable, CaseIterable {
  case done
  case cancelled
  /// A dead letter that an operator deleted.
  case deleted
  /// Discarded by its handler.
  case discarded
  /// A dead letter that was retried with another payload, as another job.
  case replaced
}

/// Everything in a job's row.
package struct WholeJob: Sendable {
  package let row: JobRow
  /// The payload's version.
  package let version: Int
  package let payload: String
  /// Oldest first.
  package let failures: [JobFailure]
  package let trace: TraceID?

  /// The columns besides those of a `JobRow`.
  static let columns = "version, payload, failures, trace"

  init(_ row: PostgresRow) throws {
    self.row = try JobRow(row)
    version = try row.decode(Int.self, named: "version")
    payload = try row.decode(String.self, named: "payload")
    let noted = try row.decode(PostgresJSON?.self, named: "failures")
    failures = try noted.map { try JSONDecoder().decode([JobFailure].self, from: Data($0.bytes)) } ?? []
    trace = try row.decode(PostgresUUID?.self, named: "trace").flatMap { TraceID($0) }
  }
}
