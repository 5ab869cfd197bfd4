import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// A job, in a line.
public struct JobSummary: Codable, Sendable, Hashable {
  public let id: String
  public let kind: String
  public let queue: String
  public let state: JobState
  public let priority: String
  /// Attempts that the ledger knows of; one that is under way is not among them.
  public let attempts: Int
  public let createdAt: Date
  /// When it is due; nil for at once.
  public let runAt: Date?
  /// When it became a dead letter.
  public let diedAt: Date?
  /// When it was done, cancelled or deleted.
  public let endedAt: Date?
  public let uniqueKey: String?
  /// The latest error, if one was noted.
  public let error: String?
}

/// All that is known of one job.
public struct JobDetail: Codable, Sendable {
  /// One failed attempt.
  public struct Failure: Codable, Sendable, Hashable {
    public let attempt: Int
    public let at: Date
    public let error: String
    public let worker: String
  }

  public let job: JobSummary
  /// The payload's version.
  public let version: Int
  /// The payload as it is kept, JSON for most kinds.
  public let payload: String
  /// Oldest first.
  public let failures: [Failure]
  /// Whether the broker knows it; nil for a job that is not pending. One that is due and unknown there is pushed by the
  /// relay.
  public let isInBroker: Bool?
  /// What has happened to it so far, oldest first.
  public let timeline: [JobEvent]
  /// Follows the request that asked for it through logs; nil where none is known.
  public let traceID: String?
}

/// The columns of a `JobSummary`, the same from both tables.
enum JobRow {
  /// From the ledger, which does not tell running jobs from those that wait.
  static let pending = """
    id, kind, queue, CASE WHEN parked THEN 'parked' WHEN run_at > now() AND failures IS NOT NULL THEN 'retrying'
      WHEN run_at > now() THEN 'delayed' ELSE 'waiting' END AS state,
    priority, attempts, created_at, run_at, NULL::timestamptz AS died_at, NULL::timestamptz AS ended_at, unique_key,
    failures->-1->>'error' AS error
    """
  static let dead = """
    id, kind, queue, 'dead' AS state, priority, attempts, created_at, NULL::timestamptz AS run_at, died_at,
    NULL::timestamptz AS ended_at, unique_key, failures->-1->>'error' AS error
    """
  static let ended = """
    id, kind, queue, state, priority, attempts, created_at, NULL::timestamptz AS run_at, NULL::timestamptz AS died_at,
    ended_at, unique_key, failures->-1->>'error' AS error
    """

  /// - Parameter running: tells running jobs from those that wait; nil where nobody asks.
  static func summary(_ row: PostgresRow, running: RunningJobs? = nil) throws -> JobSummary {
    let id = JobID(try row.decode(PostgresUUID.self, named: "id"))
    var state = JobState(rawValue: try row.decode(String.self, named: "state")) ?? .waiting
    if state == .waiting, running?.contains(id) == true { state = .running }
    let priority = JobPriority(rawValue: UInt8(clamping: try row.decode(Int.self, named: "priority"))) ?? .normal
    return JobSummary(
      id: id.description,
      kind: try row.decode(String.self, named: "kind"), queue: try row.decode(String.self, named: "queue"),
      state: state, priority: "\(priority)",
      attempts: try row.decode(Int.self, named: "attempts"),
      createdAt: try row.decode(Date.self, named: "created_at"), runAt: try row.decode(Date?.self, named: "run_at"),
      diedAt: try row.decode(Date?.self, named: "died_at"),
      endedAt: try row.decode(Date?.self, named: "ended_at"),
      uniqueKey: try row.decode(String?.self, named: "unique_key"),
      error: try row.decode(String?.self, named: "error"))
  }

  /// The whole of it; the row has `version`, `payload`, `failures` and `trace` besides.
  ///
  /// - Parameter others: what happened to it besides what its own row tells.
  static func detail(
    _ row: PostgresRow, isInBroker: Bool?, others: [JobEvent], running: RunningJobs? = nil
  ) throws -> JobDetail {
    let noted = try row.decode(PostgresJSON?.self, named: "failures")
    let failures = try noted.map { try JSONDecoder().decode([JobFailure].self, from: Data($0.bytes)) } ?? []
    let job = try summary(row, running: running)
    let told = failures.map { failure in
      JobDetail.Failure(
        attempt: failure.attempt, at: Date(timeIntervalSince1970: Double(failure.at) / 1000), error: failure.error,
        worker: failure.worker)
    }
    return JobDetail(
      job: job, version: try row.decode(Int.self, named: "version"),
      payload: try row.decode(String.self, named: "payload"), failures: told, isInBroker: isInBroker,
      timeline: JobEvent.timeline(of: job, failures: told, others: others),
      traceID: try row.decode(PostgresUUID?.self, named: "trace").flatMap { TraceID($0) }?.description)
  }
}
