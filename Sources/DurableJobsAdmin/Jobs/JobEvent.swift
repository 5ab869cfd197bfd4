import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

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
  static func timeline(of job: JobSummary, failures: [JobDetail.Failure], others: [JobEvent]) -> [JobEvent] {
    var events = [JobEvent("asked for", at: job.createdAt)] + others
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

  /// What operators did to a job, and which workers run it now.
  static func others(of id: JobID, in pool: PostgresPool) async throws -> [JobEvent] {
    let subject = id.description
    let answers = try await pool.pipeline([
      "SELECT at, action, actor FROM actions WHERE subject = \(subject) ORDER BY id DESC LIMIT 100",
      """
      SELECT to_timestamp((run->>'since')::bigint / 1000.0), (run->>'attempt')::bigint, name
      FROM workers, jsonb_array_elements(running) AS run
      WHERE run->>'id' = \(subject) AND \(unescaped: WorkerPresence.isHeard)
      """,
    ])
    let actions = try answers[0].decode(Date.self, String.self, String.self).map { at, action, actor in
      JobEvent(action, at: at, "by \(actor)")
    }
    let runs = try answers[1].decode(Date.self, Int.self, String.self).map { at, attempt, worker in
      JobEvent("running", at: at, "attempt \(attempt), \(worker)")
    }
    return actions.reversed() + runs
  }
}
