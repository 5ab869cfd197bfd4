import DurableJobsAdmin
import Foundation
import Hummingbird

/// Workers: what each runs, and how to have them rest or end.
struct WorkerPages: Sendable {
  let kit: Kit
  let workers: WorkerAdmin

  func add(to routes: inout Routes) {
    routes.page("workers", list)
    routes.action("workers/quiet") { visit, form in
      let name = form["name"]
      if name == nil,
        let question = kit.confirm(
          visit, form, "Quiet all workers?", "They claim no more, until each is started again; what runs goes on.",
          label: "Quiet all", back: "/admin/workers")
      {
        return question
      }
      _ = try await workers.quiet(name, by: visit.actor)
      return try await kit.done(
        visit, name.map { "\($0) claims no more." } ?? "No worker claims any more.", to: "/admin/workers")
    }
    routes.action("workers/stop") { visit, form in
      let name = form["name"]
      let question = kit.confirm(
        visit, form, name.map { "Stop \($0)?" } ?? "Stop all workers?",
        "What runs is finished first, and what was claimed goes back at once. What supervises the process may start another.",
        label: name == nil ? "Stop all" : "Stop it", back: "/admin/workers")
      if let question { return question }
      _ = try await workers.stop(name, by: visit.actor)
      return try await kit.done(
        visit,
        name.map { "\($0) ends when it has done what it runs." }
          ?? "All workers end when they have done what they run.",
        to: "/admin/workers")
    }
  }

  private struct Model {
    let hasWorkers: Bool
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
    let started: Moment
    let seen: Moment
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

  /// So many of a worker's running jobs are listed.
  private static let shown = 20

  @Sendable private func list(_ visit: Visit) async throws -> Response {
    let now = kit.now()
    let rows = try await workers.list().map { worker in
      Row(
        name: worker.name, host: worker.host, pid: worker.pid, version: worker.version,
        state: worker.state.rawValue, style: worker.state.style,
        orders: worker.orders.map { "asked to \($0 == "quiet" ? "claim no more" : $0)" },
        started: kit.moment(worker.startedAt),
        seen: kit.moment(worker.seenAt),
        served: worker.queues.map { "\($0.queue) × \($0.slots)" + ($0.isPaused ? ", paused" : "") },
        isBusy: !worker.running.isEmpty,
        running: worker.running.prefix(Self.shown).map { job in
          Running(
            id: job.id, kind: job.kind, queue: job.queue, attempt: job.attempt,
            age: Format.duration(now.timeIntervalSince(job.since)))
        },
        more: worker.running.count > Self.shown ? "and \(worker.running.count - Self.shown) more" : nil,
        canQuiet: worker.state == .running && worker.orders == nil,
        canStop: (worker.state == .running || worker.state == .quiet) && worker.orders != "stop")
    }
    return try await kit.page(
      visit, "workers", title: "Workers", at: "/admin/workers", Model(hasWorkers: !rows.isEmpty, workers: rows))
  }
}

extension WorkerSummary.State {
  /// The style sheet's class for it.
  var style: String {
    switch self {
    case .running: "ok"
    case .quiet, .stopping: "warn"
    case .lost: "bad"
    }
  }
}
