import DurableJobsAdmin
import Foundation
import Hummingbird

/// Workers and their running jobs, with actions to quiet and stop them.
struct WorkerPages: DashboardPages {
  let workers: WorkerAdmin
  var terms = DoctorTerms()

  var menu: [DashboardMenuEntry] { [DashboardMenuEntry("Workers", path: "workers")] }

  func add(to routes: inout DashboardRoutes) {
    routes.page("workers", list)
    routes.action("workers/quiet") { visit, form in
      let name = form["name"]
      if name == nil,
        let question = visit.confirm(
          form, "Quiet all workers?", "They claim no more jobs until they are restarted; running jobs continue.",
          label: "Quiet all", back: "workers")
      {
        return question
      }
      _ = try await workers.quiet(name, by: visit.actor)
      return try await visit.done(
        name.map { "\($0) claims no more." } ?? "All workers claim no more.", to: "workers")
    }
    routes.action("workers/stop") { visit, form in
      let name = form["name"]
      let question = visit.confirm(
        form, name.map { "Stop \($0)?" } ?? "Stop all workers?",
        "Running jobs are finished first, and other claimed jobs are handed back at once. "
          + "The process's supervisor may start another.",
        label: name == nil ? "Stop all" : "Stop it", back: "workers")
      if let question { return question }
      _ = try await workers.stop(name, by: visit.actor)
      return try await visit.done(
        name.map { "\($0) stops when its running jobs are done." }
          ?? "All workers stop when their running jobs are done.",
        to: "workers")
    }
  }

  private struct Model {
    let hasWorkers: Bool
    /// How to start workers.
    let start: Overview.Words
    let workers: [Row]
  }

  private struct Row {
    let name: String
    let host: String
    let pid: Int
    let version: String
    let state: String
    let style: String
    let orders: String?
    let started: PageMoment
    let seen: PageMoment
    let served: [String]
    let isBusy: Bool
    let running: [Running]
    let more: String?
    let canQuiet: Bool
    let canStop: Bool
  }

  private struct Running {
    let id: String
    let kind: String
    let queue: String
    let attempt: Int
    let age: String
  }

  /// The number of a worker's running jobs listed.
  private static let shown = 20

  @Sendable private func list(_ visit: DashboardVisit) async throws -> Response {
    let now = visit.now
    let rows = try await workers.list().map { worker in
      Row(
        name: worker.name, host: worker.host, pid: worker.pid, version: worker.version,
        state: worker.state.rawValue, style: worker.state.style,
        orders: worker.orders.map { "asked to \($0 == "quiet" ? "claim no more" : $0)" },
        started: visit.moment(worker.startedAt),
        seen: visit.moment(worker.seenAt),
        served: worker.queues.map { "\($0.queue) × \($0.concurrency)" + ($0.isPaused ? ", paused" : "") },
        isBusy: !worker.running.isEmpty,
        running: worker.running.prefix(Self.shown).map { job in
          Running(
            id: job.id, kind: job.kind, queue: job.queue, attempt: job.attempt,
            age: PageFormat.duration(now.timeIntervalSince(job.since)))
        },
        more: worker.running.count > Self.shown ? "and \(worker.running.count - Self.shown) more" : nil,
        canQuiet: worker.state == .running && worker.orders == nil,
        canStop: (worker.state == .running || worker.state == .quiet) && worker.orders != "stop")
    }
    return try await visit.page(
      "workers", title: "Workers", Model(hasWorkers: !rows.isEmpty, start: .starting(terms), workers: rows))
  }
}

extension WorkerSummary.State {
  /// The worker's class in the style sheet.
  var style: String {
    switch self {
    case .running: "ok"
    case .quiet, .stopping: "warn"
    case .lost: "bad"
    }
  }
}
