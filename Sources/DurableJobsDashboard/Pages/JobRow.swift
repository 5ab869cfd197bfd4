import DurableJobsAdmin
import Foundation

/// A job's row in a list.
struct JobRow {
  let id: String
  let kind: String
  let state: String
  let style: String
  let queue: String
  let attempts: String
  let whenWord: String
  let when: PageMoment
  let error: String

  init(_ job: JobSummary, for visit: DashboardVisit) {
    let now = visit.now
    id = job.id
    kind = job.kind
    state = job.state.rawValue
    style = job.state.style
    queue = job.queue
    attempts = PageFormat.number(job.attempts)
    error = PageFormat.line(visit.masked(job.error ?? ""))
    if let diedAt = job.diedAt {
      (whenWord, when) = ("died", PageMoment(diedAt, now: now))
    } else if let endedAt = job.endedAt {
      (whenWord, when) = ("ended", PageMoment(endedAt, now: now))
    } else if let runAt = job.runAt, runAt > now {
      (whenWord, when) = ("due", PageMoment(runAt, now: now))
    } else {
      (whenWord, when) = ("made", PageMoment(job.createdAt, now: now))
    }
  }
}

extension JobState {
  /// The row's class in the style sheet.
  var style: String {
    switch self {
    case .waiting, .running: "busy"
    case .retrying, .parked: "warn"
    case .dead: "bad"
    case .done: "ok"
    case .delayed, .cancelled, .deleted, .discarded, .replaced: "still"
    }
  }
}
