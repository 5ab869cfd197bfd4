import DurableJobs
import DurableJobsAdmin
import Foundation
import Hummingbird

/// The log of operators' actions.
struct ActionPages: DashboardPages {
  var menu: [DashboardMenuEntry] { [DashboardMenuEntry("Actions", path: "actions")] }

  func add(to routes: inout DashboardRoutes) {
    routes.page("actions", list)
  }

  private struct Model {
    let hasEntries: Bool
    let entries: [Row]
    let nextPage: String?
  }

  private struct Row {
    let at: PageMoment
    let who: String
    let what: String
    let subject: String
    let href: String?
    let detail: String
  }

  @Sendable private func list(_ visit: DashboardVisit) async throws -> Response {
    let before = visit.query["before"].flatMap { Int($0) }
    let page = try await visit.readJobs { try await ActionLog($0).page(before: before, limit: 50) }
    let model = Model(
      hasEntries: !page.items.isEmpty,
      entries: page.items.map { entry in
        Row(
          at: visit.moment(entry.at), who: entry.actor, what: entry.action, subject: entry.subject,
          href: JobID(entry.subject) == nil ? nil : "jobs/" + entry.subject,
          detail: entry.detail.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", "))
      }, nextPage: page.next.map { DashboardLink.to("actions", ("before", String($0))) })
    return try await visit.page("actions", title: "Actions", model)
  }
}
