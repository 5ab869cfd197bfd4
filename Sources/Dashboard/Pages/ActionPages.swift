import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import Foundation
import Hummingbird

/// What operators did.
struct ActionPages: Sendable {
  let kit: Kit

  func add(to routes: inout Routes) {
    routes.page("actions", list)
  }

  private struct Model {
    let hasEntries: Bool
    let entries: [Row]
    let nextPage: String?
  }

  private struct Row {
    let at: Moment
    let who: String
    let what: String
    let subject: String
    let href: String?
    let detail: String
  }

  @Sendable private func list(_ visit: Visit) async throws -> Response {
    let before = visit.query["before"].flatMap { Int($0) }
    let page = try await kit.read(visit) { try await ActionLog(JobsDatabase(pool: $0)).page(before: before, limit: 50) }
    let model = Model(
      hasEntries: !page.items.isEmpty,
      entries: page.items.map { entry in
        Row(
          at: kit.moment(entry.at), who: entry.actor, what: entry.action, subject: entry.subject,
          href: JobID(entry.subject) == nil ? nil : "/admin/jobs/" + entry.subject,
          detail: entry.detail.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", "))
      }, nextPage: page.next.map { Link.to("/admin/actions", ("before", String($0))) })
    return try await kit.page(visit, "actions", title: "Actions", at: "/admin/actions", model)
  }
}
