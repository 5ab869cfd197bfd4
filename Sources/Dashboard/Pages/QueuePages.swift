import DurableJobsAdmin
import Foundation
import Hummingbird

/// Queues: all, one, and what can be done to one.
struct QueuePages: Sendable {
  let kit: Kit
  let queues: QueueAdmin
  let figures: Figures
  let work: BulkWork

  func add(to routes: inout Routes) {
    routes.page("queues", list)
    routes.page("queues/{queue}", show)
    routes.action("queues/{queue}/pause") { visit, form in
      let name = try visit.parameter("queue")
      try await queues.pause(name, by: visit.actor)
      return try await kit.done(visit, "\(name) is paused: workers claim nothing more from it.", to: back(form, name))
    }
    routes.action("queues/{queue}/resume") { visit, form in
      let name = try visit.parameter("queue")
      try await queues.resume(name, by: visit.actor)
      return try await kit.done(visit, "\(name) goes on.", to: back(form, name))
    }
    routes.action("queues/{queue}/clear", clear)
  }

  private func back(_ form: Form, _ name: String) -> String {
    form["back"] == "queue" ? "/admin/queues/\(Link.escape(name))" : "/admin/queues"
  }

  /// A queue in a line.
  struct Row {
    let name: String
    let isPaused: Bool
    let isUnserved: Bool
    let ready: String
    let running: String
    let delayed: String
    let parked: String
    let workers: String
    let oldestWaiting: String
    let oldestRunning: String

    init(_ queue: QueueSummary) {
      name = queue.queue
      isPaused = queue.isPaused
      isUnserved = queue.workers == 0
      ready = Format.number(queue.ready)
      running = Format.number(queue.claimed)
      delayed = Format.number(queue.delayed)
      parked = Format.number(queue.parked)
      workers = Format.number(queue.workers)
      oldestWaiting = Format.duration(queue.oldestWaiting)
      oldestRunning = Format.duration(queue.oldestRunning)
    }
  }

  private struct List {
    let queues: [Row]
  }

  @Sendable private func list(_ visit: Visit) async throws -> Response {
    let rows = try await queues.list().map(Row.init)
    return try await kit.page(visit, "queues", title: "Queues", at: "/admin/queues", List(queues: rows))
  }

  private struct One {
    let name: String
    let isPaused: Bool
    let isUnserved: Bool
    let pause: String?
    let numbers: [Number]
    let windows: [Figures.Tab]
    let charts: [Chart]
    let hasKinds: Bool
    let kinds: [Kind]
  }

  private struct Kind {
    let kind: String
    let href: String
    let completed: String
    let failed: String
    let dead: String
    let meanWait: String
    let meanRun: String

    init(_ statistics: KindStatistics, queue: String) {
      kind = statistics.kind
      href = Link.to("/admin/jobs", ("kind", statistics.kind), ("queue", queue))
      completed = Format.number(statistics.totals.completed)
      failed = Format.number(statistics.totals.failed)
      dead = Format.number(statistics.totals.dead)
      meanWait = Format.duration(statistics.totals.meanWait)
      meanRun = Format.duration(statistics.totals.meanRun)
    }
  }

  private struct Number {
    let label: String
    let value: String
    let href: String?

    init(_ label: String, _ value: String, _ href: String? = nil) {
      self.label = label
      self.value = value
      self.href = href
    }
  }

  @Sendable private func show(_ visit: Visit) async throws -> Response {
    let name = try visit.parameter("queue")
    let window = Figures.window(visit.query["window"])
    let queue = try await queues.show(name)
    let row = Row(queue.summary)
    let kinds = try await figures.statistics.kinds(window, queue: name)
    let sum = Figures.Sum(kinds.map(\.totals))
    let jobs = { (state: JobState?) in Link.to("/admin/jobs", ("queue", name), ("state", state?.rawValue)) }
    let model = One(
      name: name, isPaused: row.isPaused, isUnserved: row.isUnserved,
      pause: queue.pausedAt.map { "Paused \(kit.moment($0).distance) by \(queue.pausedBy ?? "somebody")." },
      numbers: [
        Number("Waiting", row.ready, jobs(.waiting)), Number("Running", row.running, jobs(.running)),
        Number("Delayed", row.delayed, jobs(.delayed)), Number("Parked", row.parked, jobs(.parked)),
        Number("Workers", row.workers), Number("Longest wait now", row.oldestWaiting),
        Number("Longest run now", row.oldestRunning), Number("Mean wait", Format.duration(sum.meanWait)),
        Number("Mean run", Format.duration(sum.meanRun)),
      ],
      windows: Figures.tabs(window, at: "/admin/queues/\(Link.escape(name))"),
      charts: try await figures.charts(window, queue: name), hasKinds: !kinds.isEmpty,
      kinds: kinds.map { Kind($0, queue: name) })
    return try await kit.page(visit, "queue", title: name, at: "/admin/queues", model)
  }

  @Sendable private func clear(_ visit: Visit, _ form: Form) async throws -> Response {
    let name = try visit.parameter("queue")
    let question = kit.confirm(
      visit, form, "Clear \(name)?",
      "All jobs that are pending in this queue are cancelled. This cannot be taken back; the list of cancelled jobs keeps them for a few days.",
      label: "Clear \(name)", back: "/admin/queues")
    if let question { return question }
    let actor = visit.actor
    let outcome = try await work.start("Clearing \(name)") { [queues] progress in
      try await queues.clear(name, by: actor, progress: progress)
    }
    return try await kit.done(visit, outcome.sentence("cancelled", in: name), to: "/admin/queues")
  }
}

extension BulkWork.Outcome? {
  /// What is said of it: that it is done, goes on, or failed.
  func sentence(_ done: String, in place: String) -> String {
    switch self {
    case .done(1): "One job of \(place) was \(done)."
    case .done(let count): "\(Format.number(count)) jobs of \(place) were \(done)."
    case .failed(let reason): "It ended early: \(reason)"
    case nil: "It goes on in the background; the page of dead letters says how far it is."
    }
  }
}
