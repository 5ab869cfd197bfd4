import DurableJobs
import DurableJobsPostgres
import Foundation

/// A one-line summary of a job.
public struct JobSummary: Codable, Sendable, Hashable {
  public let id: String
  public let kind: String
  public let queue: String
  public let state: JobState
  public let priority: String
  /// Attempts recorded in the ledger, without the one in progress.
  public let attempts: Int
  public let createdAt: Date
  /// When the job is due; nil for at once.
  public let runAt: Date?
  /// When it became a dead letter.
  public let diedAt: Date?
  /// When it was done, cancelled, deleted, discarded or replaced.
  public let endedAt: Date?
  public let uniqueKey: String?
  /// The latest error, if one was recorded.
  public let error: String?
}

/// Everything known about one job.
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
  /// The stored payload, JSON for most kinds.
  public let payload: String
  /// Oldest first.
  public let failures: [Failure]
  /// Whether the broker knows the job; nil if the job is not pending. The relay pushes a due job that the broker does
  /// not know.
  public let isInBroker: Bool?
  /// The job's history so far, oldest first.
  public let timeline: [JobEvent]
  /// The trace of the request that enqueued the job, for finding it in logs; nil if unknown.
  public let traceID: String?
}

extension JobSummary {
  /// - Parameter isRunning: whether a worker reports the job as running, which its row does not show.
  init(_ row: JobRow, isRunning: Bool = false) {
    let state = JobState(row.place)
    id = row.id.description
    kind = row.kind.rawValue
    queue = row.queue.rawValue
    self.state = isRunning && state == .waiting ? .running : state
    priority = "\(row.priority)"
    attempts = row.attempts
    createdAt = row.createdAt
    runAt = row.runAt
    switch row.place {
    case .pending: (diedAt, endedAt) = (nil, nil)
    case .dead(let at): (diedAt, endedAt) = (at, nil)
    case .ended(_, let at): (diedAt, endedAt) = (nil, at)
    }
    uniqueKey = row.uniqueKey
    error = row.error
  }
}

extension JobDetail {
  /// - Parameters:
  ///   - history: the events that the job's own row does not show.
  ///   - isRunning: as for a `JobSummary`.
  init(_ job: WholeJob, isInBroker: Bool?, _ history: JobHistory, isRunning: Bool = false) {
    self.job = JobSummary(job.row, isRunning: isRunning)
    version = job.version
    payload = job.payload
    failures = job.failures.map { failure in
      Failure(
        attempt: failure.attempt, at: failure.at, error: failure.error, worker: failure.worker)
    }
    self.isInBroker = isInBroker
    timeline = JobEvent.timeline(of: self.job, failures: failures, history)
    traceID = job.trace?.description
  }
}
