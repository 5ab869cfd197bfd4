import DurableJobsAdmin
import Foundation
import Hummingbird

/// The queue list and the queue page, with its actions.
struct QueuePages: DashboardPages {
  let queues: QueueAdmin
  let figures: Figures
  let work: BulkWork

  var menu: [DashboardMenuEntry] { [DashboardMenuEntry("Queues", path: "queues")] }

  func add(to routes: inout DashboardRoutes) {
    routes.page("queues", list)
    routes.page("queues/{queue}", show)
    routes.action("queues/{queue}/pause") { visit, form in
      let name = try visit.parameter("queue")
      try await queues.pause(name, by: visit.actor)
      return try await visit.done("\(name) is paused: workers no longer claim from it.", to: back(form, name))
    }
    routes.action("queues/{queue}/resume") { visit, form in
      let name = try visit.parameter("queue")
      try await queues.resume(name, by: visit.actor)
      return try await visit.done("\(name) is resumed.", to: back(form, name))
    }
    routes.action("queues/{queue}/clear", clear)
  }

  private func back(_ form: DashboardForm, _ name: String) -> String {
    form["back"] == "queue" ? "queues/\(DashboardLink.escape(name))" : "queues"
  }

  /// A queue's row in the list.
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
      ready = PageFormat.number(queue.ready)
      running = PageFormat.number(queue.claimed)
      delayed = PageFormat.number(queue.delayed)
      parked = PageFormat.number(queue.parked)
      workers = PageFormat.number(queue.workers)
      oldestWaiting = PageFormat.duration(queue.oldestWaiting)
      oldestRunning = PageFormat.duration(queue.oldestRunning)
    }
  }

  private struct List {
    let queues: [Row]
  }

  @Sendable private func list(_ visit: DashboardVisit) async throws -> Response {
    let rows = try await queues.list().map(Row.init)
    return try await visit.page("queues", title: "Queues", List(queues: rows))
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
    let wait: String
    let run: String

    init(_ statistics: KindStatistics, queue: String) {
      kind = statistics.kind
      href = DashboardLink.to("jobs", ("kind", statistics.kind), ("queue", queue))
      completed = PageFormat.number(statistics.totals.completed)
      failed = PageFormat.number(statistics.totals.failed)
      dead = PageFormat.number(statistics.totals.dead)
      wait = PageFormat.percentiles(statistics.totals.wait)
      run = PageFormat.percentiles(statistics.totals.run)
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

  @Sendable private func show(_ visit: DashboardVisit) async throws -> Response {
    let name = try visit.parameter("queue")
    let window = Figures.window(visit.query["window"])
    let queue = try await queues.show(name)
    let row = Row(queue.summary)
    let kinds = try await figures.statistics.kinds(window, queue: name)
    let totals = try await figures.statistics.totals(window, queue: name)
    let jobs = { (state: JobState?) in DashboardLink.to("jobs", ("queue", name), ("state", state?.rawValue)) }
    let model = One(
      name: name, isPaused: row.isPaused, isUnserved: row.isUnserved,
      pause: queue.pausedAt.map { "Paused \(visit.moment($0).distance) by \(queue.pausedBy ?? "someone")." },
      numbers: [
        Number("Waiting", row.ready, jobs(.waiting)), Number("Running", row.running, jobs(.running)),
        Number("Delayed", row.delayed, jobs(.delayed)), Number("Parked", row.parked, jobs(.parked)),
        Number("Workers", row.workers), Number("Longest wait now", row.oldestWaiting),
        Number("Longest run now", row.oldestRunning),
        Number("Wait p50 · p95 · p99", PageFormat.percentiles(totals.wait)),
        Number("Run p50 · p95 · p99", PageFormat.percentiles(totals.run)),
      ],
      windows: Figures.tabs(window, at: "queues/\(DashboardLink.escape(name))"),
      charts: try await figures.charts(window, queue: name), hasKinds: !kinds.isEmpty,
      kinds: kinds.map { Kind($0, queue: name) })
    return try await visit.page("queue", title: name, model)
  }

  @Sendable private func clear(_ visit: DashboardVisit, _ form: DashboardForm) async throws -> Response {
    let name = try visit.parameter("queue")
    let question = visit.confirm(
      form, "Clear \(name)?",
      "All pending jobs of this queue are cancelled. This cannot be undone; "
        + "the list of cancelled jobs keeps them for a few days.",
      label: "Clear \(name)", back: "queues")
    if let question { return question }
    let actor = visit.actor
    let outcome = try await work.start("Clearing \(name)") { [queues] progress in
      .done(try await queues.clear(name, by: actor, progress: progress))
    }
    return try await visit.done(outcome.sentence("cancelled", in: name), to: "queues")
  }
}
