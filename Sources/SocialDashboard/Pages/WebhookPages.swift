import DurableJobs
import DurableJobsAdmin
import DurableJobsDashboard
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import Hummingbird
import Social
import SocialAdmin

/// Webhooks: their state, their last deliveries, and how to pause, resume and replay. Secrets are shown on no page, so
/// hooks are added, and get new secrets, at a terminal.
struct WebhookPages: DashboardPages {
  let webhooks: WebhookAdmin
  let jobs: JobClient<RedisBroker, PostgresLedger>

  let menu = [DashboardMenuEntry("Webhooks", path: "webhooks")]
  let templates = [
    "webhooks": String(decoding: PackageResources.webhooks_mustache, as: UTF8.self),
    "webhook": String(decoding: PackageResources.webhook_mustache, as: UTF8.self),
  ]

  func add(to routes: inout DashboardRoutes) {
    routes.page("webhooks", list)
    routes.page("webhooks/{id}", show)
    routes.action("webhooks/{id}/pause") { visit, form in
      let id = try Self.id(visit)
      _ = try await webhooks.pause(id, by: visit.actor)
      return try await visit.done("The webhook \(id) is paused; its events wait.", to: "webhooks/\(id)")
    }
    routes.action("webhooks/{id}/resume") { visit, form in
      let id = try Self.id(visit)
      _ = try await webhooks.resume(id, by: visit.actor, through: jobs)
      return try await visit.done("The webhook \(id) continues where it stopped.", to: "webhooks/\(id)")
    }
    routes.action("webhooks/{id}/test") { visit, form in
      let id = try Self.id(visit)
      let event = try await webhooks.test(id, by: visit.actor, through: jobs)
      return try await visit.done("The test event \(event) is enqueued.", to: "webhooks/\(id)")
    }
    routes.action("webhooks/{id}/replay") { visit, form in
      let id = try Self.id(visit)
      let what = try Self.replay(try form.require("what"))
      let question = visit.confirm(
        form, "Send events again?", "The receiver gets them once more, each with the id it had.", label: "Send again",
        back: "webhooks/\(id)")
      if let question { return question }
      let count = try await webhooks.replay(id, what, by: visit.actor, through: jobs)
      return try await visit.done("\(PageFormat.number(count)) events are sent again.", to: "webhooks/\(id)")
    }
  }

  func refusal(of error: any Error) -> DashboardRefusal? { DashboardRefusal(ofSocial: error) }

  func address(ofFinding name: String) -> String? { name.hasPrefix("webhook") ? "webhooks" : nil }

  private static func id(_ visit: DashboardVisit) throws -> Int {
    guard let id = EntityID.parse(try visit.parameter("id")) else {
      throw OperationError(.notFound, "there is no such webhook")
    }
    return id
  }

  /// - Parameter what: `failed`, or an event's id.
  private static func replay(_ what: String) throws -> WebhookAdmin.Replay {
    what == "failed" ? .failed : .event(what)
  }

  private static let all = "all"

  private static func style(ofHook state: String) -> String {
    switch state {
    case "active": "ok"
    case "paused": "warn"
    default: "bad"
    }
  }

  private static func style(ofDelivery state: String) -> String {
    switch state {
    case "delivered": "ok"
    case "failed": "bad"
    default: "still"
    }
  }

  private struct Model {
    let hasHooks: Bool
    let hooks: [Row]
  }

  private struct Row {
    let id: Int
    let address: String
    let url: String
    let state: String
    let style: String
    let reason: String?
    let events: String
    let waiting: String
    let failures: String
    let delivered: PageMoment?
  }

  @Sendable private func list(_ visit: DashboardVisit) async throws -> Response {
    let rows = try await webhooks.list().map { hook in
      Row(
        id: hook.id, address: DashboardLink.to("webhooks/\(hook.id)"), url: hook.url, state: hook.state,
        style: Self.style(ofHook: hook.state), reason: hook.reason, events: hook.events.joined(separator: ", "),
        waiting: PageFormat.number(hook.waiting), failures: PageFormat.number(hook.failures),
        delivered: visit.moment(hook.deliveredAt))
    }
    return try await visit.page("webhooks", title: "Webhooks", Model(hasHooks: !rows.isEmpty, hooks: rows))
  }

  private struct Page {
    let id: Int
    let address: String
    let url: String
    let state: String
    let style: String
    let isActive: Bool
    let facts: [Fact]
    let states: [PageChoice]
    let hasDeliveries: Bool
    let deliveries: [Delivery]
    let next: String?
  }

  private struct Fact {
    let label: String
    let value: String
  }

  private struct Delivery {
    let event: String
    let type: String
    let subject: String
    let state: String
    let style: String
    let isEnded: Bool
    let attempts: String
    let status: String
    let answer: String?
    let made: PageMoment
  }

  @Sendable private func show(_ visit: DashboardVisit) async throws -> Response {
    let id = try Self.id(visit)
    let hook = try await webhooks.show(id)
    let chosen = visit.query["state"] ?? Self.all
    let found = try await webhooks.deliveries(
      of: id, in: WebhookAdmin.DeliveryState(rawValue: chosen), before: visit.query["before"])
    var facts = [
      Fact(label: "Events", value: hook.events.joined(separator: ", ")),
      Fact(label: "Added", value: visit.moment(hook.createdAt).text),
      Fact(label: "Last delivery", value: visit.moment(hook.deliveredAt)?.text ?? "none"),
      Fact(label: "Waiting", value: PageFormat.number(hook.waiting)),
      Fact(label: "Failures since", value: PageFormat.number(hook.failures)),
    ]
    if let reason = hook.reason { facts.insert(Fact(label: "Reason", value: reason), at: 0) }
    let rows = found.items.map { delivery in
      Delivery(
        event: delivery.event, type: delivery.type, subject: delivery.subject, state: delivery.state,
        style: Self.style(ofDelivery: delivery.state), isEnded: delivery.state != "waiting" && hook.state != "disabled",
        attempts: PageFormat.number(delivery.attempts), status: delivery.status.map { String($0) } ?? "–",
        answer: delivery.answer.map { String(visit.masked($0).prefix(200)) }, made: visit.moment(delivery.createdAt))
    }
    let model = Page(
      id: hook.id, address: DashboardLink.to("webhooks/\(hook.id)"), url: hook.url, state: hook.state,
      style: Self.style(ofHook: hook.state), isActive: hook.state == "active", facts: facts,
      states: PageChoice.all([Self.all] + WebhookAdmin.DeliveryState.allCases.map(\.rawValue), chosen: chosen),
      hasDeliveries: !rows.isEmpty, deliveries: rows,
      next: found.next.map { DashboardLink.to("webhooks/\(hook.id)", ("state", chosen), ("before", $0)) })
    return try await visit.page("webhook", title: "Webhook \(hook.id)", model)
  }
}
