import DurableJobsAdmin
import Foundation
import Hummingbird

/// One job in full detail, with its actions.
struct JobPages: DashboardPages {
  let jobs: JobAdmin

  func add(to routes: inout DashboardRoutes) {
    routes.page("jobs/{id}", show)
    routes.action("jobs/{id}/retry") { visit, _ in
      let id = try visit.parameter("id")
      _ = try await jobs.retry(id, by: visit.actor)
      return try await visit.done("The job is pending and due now.", to: path(id))
    }
    routes.action("jobs/{id}/cancel") { visit, form in
      let id = try visit.parameter("id")
      let question = visit.confirm(
        form, "Cancel this job?",
        "It will no longer be pending; if it is running, it is stopped and its transaction rolled back. "
          + "This cannot be undone.",
        label: "Cancel the job", back: path(id))
      if let question { return question }
      do {
        // Less than the time that a request may take.
        let job = try await jobs.cancel(id, by: visit.actor, patience: .seconds(2))
        let isCancelled = job.state == .cancelled
        return try await visit.done(
          isCancelled ? "The job is cancelled." : "The job ended first: it is \(job.state.rawValue).", to: path(id))
      } catch let error as OperationError where error.code == .failed {
        return try await visit.done("The job still runs; its worker is told to stop it.", to: path(id))
      }
    }
    routes.action("jobs/{id}/delete") { visit, form in
      let id = try visit.parameter("id")
      let question = visit.confirm(
        form, "Delete this dead letter?", "It will not be retried. This cannot be undone.",
        label: "Delete the dead letter", back: path(id))
      if let question { return question }
      _ = try await jobs.delete(id, by: visit.actor)
      return try await visit.done("The dead letter is deleted.", to: path(id))
    }
    routes.action("jobs/{id}/reschedule") { visit, form in
      let id = try visit.parameter("id")
      _ = try form.require("at")
      guard let date = try form.date("at") else { return visit.redirect(to: path(id)) }
      _ = try await jobs.reschedule(id, at: date, by: visit.actor)
      return try await visit.done("The job is due at \(visit.moment(date).text) UTC.", to: path(id))
    }
  }

  private func path(_ id: String) -> String { "jobs/" + DashboardLink.escape(id) }

  private struct Model {
    let id: String
    let kind: String
    let state: String
    let style: String
    let facts: [Fact]
    let canRetry: Bool
    let retryLabel: String
    let canCancel: Bool
    let canDelete: Bool
    let canReschedule: Bool
    let events: [Event]
    let version: Int
    let payload: String
    let cutFrom: String?
    let hasFailures: Bool
    let failures: [Failure]
  }

  private struct Fact {
    let label: String
    let value: String
    let isCode: Bool
    let href: String?
    let sub: String?

    init(_ label: String, _ value: String, isCode: Bool = false, href: String? = nil, sub: String? = nil) {
      self.label = label
      self.value = value
      self.isCode = isCode
      self.href = href
      self.sub = sub
    }

    init(_ label: String, _ moment: PageMoment) { self.init(label, moment.text, sub: moment.distance) }
  }

  private struct Event {
    let at: PageMoment
    let what: String
    let detail: String?
    let style: String
  }

  private struct Failure {
    let attempt: Int
    let at: PageMoment
    let worker: String
    let error: String
  }

  @Sendable private func show(_ visit: DashboardVisit) async throws -> Response {
    let detail = try await jobs.show(try visit.parameter("id"))
    let job = detail.job
    let payload = PayloadText(visit.masked(detail.payload))
    let canPromote = job.state == .delayed || job.state == .retrying
    let model = Model(
      id: job.id, kind: job.kind, state: job.state.rawValue, style: job.state.style, facts: facts(of: detail, visit),
      canRetry: job.state == .dead || canPromote, retryLabel: job.state == .dead ? "Retry" : "Run now",
      canCancel: job.state.isPending, canDelete: job.state == .dead, canReschedule: job.state.isPending,
      events: detail.timeline.map { event in
        Event(at: visit.moment(event.at), what: event.what, detail: event.detail, style: Self.style(of: event))
      }, version: detail.version, payload: payload.text, cutFrom: payload.cutFrom,
      hasFailures: !detail.failures.isEmpty,
      failures: detail.failures.reversed().map { failure in
        Failure(
          attempt: failure.attempt, at: visit.moment(failure.at), worker: failure.worker, error: failure.error)
      })
    return try await visit.page("job", title: "\(job.kind) \(job.id)", model)
  }

  private func facts(of detail: JobDetail, _ visit: DashboardVisit) -> [Fact] {
    let job = detail.job
    var facts = [
      Fact("Id", job.id, isCode: true), Fact("Queue", job.queue, href: "queues/" + DashboardLink.escape(job.queue)),
      Fact("Priority", job.priority), Fact("Attempts", PageFormat.number(job.attempts)),
      Fact("Made", visit.moment(job.createdAt)),
    ]
    if let runAt = visit.moment(job.runAt) { facts.append(Fact("Due", runAt)) }
    if let diedAt = visit.moment(job.diedAt) { facts.append(Fact("Died", diedAt)) }
    if let endedAt = visit.moment(job.endedAt) { facts.append(Fact("Ended", endedAt)) }
    if let key = job.uniqueKey { facts.append(Fact("Unique key", key, isCode: true)) }
    if let trace = detail.traceID { facts.append(Fact("Trace id", trace, isCode: true)) }
    if let isInBroker = detail.isInBroker {
      facts.append(Fact("In the broker", isInBroker ? "yes" : "no: the relay pushes it when it is due"))
    }
    return facts
  }

  private static func style(of event: JobEvent) -> String {
    let what = event.what.lowercased()
    if what.contains("fail") { return "warn" }
    if what.contains("dead") || what.contains("died") || what.contains("gave up") { return "bad" }
    if what.contains("done") || what.contains("completed") { return "ok" }
    return "still"
  }
}
