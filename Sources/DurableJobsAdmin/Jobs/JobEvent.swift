import DurableJobsPostgres
import Foundation

/// One event in a job's timeline, past or future.
public struct JobEvent: Codable, Sendable, Hashable {
  public let at: Date
  /// Such as `asked for`, `attempt 2 failed`, `running`, `due`, `dead`, or an action such as `jobs.cancel`.
  public let what: String
  /// The error, the worker or the actor.
  public let detail: String?

  init(_ what: String, at: Date, _ detail: String? = nil) {
    self.at = at
    self.what = what
    self.detail = detail
  }

  /// All known events of a job, oldest first.
  static func timeline(of job: JobSummary, failures: [JobDetail.Failure], _ history: JobHistory) -> [JobEvent] {
    var events = [JobEvent("enqueued", at: job.createdAt)]
    events += history.actions.map { JobEvent($0.action, at: $0.at, "by \($0.actor)") }
    events += history.runs.map { JobEvent("running", at: $0.since, "attempt \($0.attempt), \($0.worker)") }
    for failure in failures {
      events.append(
        JobEvent("attempt \(failure.attempt) failed", at: failure.at, "\(failure.error) (\(failure.worker))"))
    }
    if let runAt = job.runAt { events.append(JobEvent("due", at: runAt)) }
    if let diedAt = job.diedAt { events.append(JobEvent("dead", at: diedAt)) }
    if let endedAt = job.endedAt { events.append(JobEvent(job.state.rawValue, at: endedAt)) }
    // Events of the same moment keep their original order.
    return events.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
  }
}
