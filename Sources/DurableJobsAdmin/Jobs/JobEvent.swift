import DurableJobsPostgres
import Foundation

/// Something that happened to a job, or is to happen.
public struct JobEvent: Codable, Sendable, Hashable {
  public let at: Date
  /// Such as `asked for`, `attempt 2 failed`, `running`, `due`, `dead`, or an action such as `jobs.cancel`.
  public let what: String
  /// The error, the worker, who did it.
  public let detail: String?

  init(_ what: String, at: Date, _ detail: String? = nil) {
    self.at = at
    self.what = what
    self.detail = detail
  }

  /// All that is known of a job, oldest first.
  static func timeline(of job: JobSummary, failures: [JobDetail.Failure], _ history: JobHistory) -> [JobEvent] {
    var events = [JobEvent("asked for", at: job.createdAt)]
    events += history.actions.map { JobEvent($0.action, at: $0.at, "by \($0.actor)") }
    events += history.runs.map { JobEvent("running", at: $0.since, "attempt \($0.attempt), \($0.worker)") }
    for failure in failures {
      events.append(
        JobEvent("attempt \(failure.attempt) failed", at: failure.at, "\(failure.error) (\(failure.worker))"))
    }
    if let runAt = job.runAt { events.append(JobEvent("due", at: runAt)) }
    if let diedAt = job.diedAt { events.append(JobEvent("dead", at: diedAt)) }
    if let endedAt = job.endedAt { events.append(JobEvent(job.state.rawValue, at: endedAt)) }
    // What is of one moment stays in the order in which it was put together.
    return events.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
  }
}
