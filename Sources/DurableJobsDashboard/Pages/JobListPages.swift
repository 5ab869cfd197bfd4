import DurableJobsAdmin
import Foundation
import Hummingbird

/// Jobs: search and filter.
struct JobListPages: DashboardPages {
  let jobs: JobAdmin
  let queueNames: @Sendable () async throws -> [String]

  var menu: [DashboardMenuEntry] { [DashboardMenuEntry("Jobs", path: "jobs")] }

  func add(to routes: inout DashboardRoutes) {
    routes.page("jobs", list)
    routes.page("jobs/find") { visit in
      guard let id = visit.query["id"]?.trimmingCharacters(in: .whitespaces) else { return visit.redirect(to: "jobs") }
      return visit.redirect(to: "jobs/" + DashboardLink.escape(id))
    }
  }

  private struct Model {
    let states: [PageChoice]
    let kind: String
    let kinds: [String]
    let queues: [PageChoice]
    let text: String
    let since: String
    let until: String
    let searched: String?
    let isChoice = false
    let hasJobs: Bool
    let jobs: [JobRow]
    let none: String
    let next: String?
  }

  @Sendable private func list(_ visit: DashboardVisit) async throws -> Response {
    let query = visit.query
    let state = try query["state"].map { text throws(DashboardRefusal) in
      guard let state = JobState(rawValue: text) else {
        throw DashboardRefusal(.unprocessableContent, "Unknown state", "Choose one from the list.")
      }
      return state
    }
    var filter = JobFilter()
    filter.state = state
    filter.kind = query["kind"]
    filter.queue = query["queue"]
    filter.text = query["text"]
    filter.blotted = visit.blotted
    filter.since = try query.date("since")
    filter.until = try query.date("until")
    filter.before = query["before"]
    let page = try await visit.readJobs { try await JobAdmin.page(filter, on: $0) }
    let now = visit.now
    let model = Model(
      states: PageChoice.all(JobState.allCases.map(\.rawValue), chosen: state?.rawValue), kind: filter.kind ?? "",
      kinds: jobs.kinds.names, queues: PageChoice.all(try await queueNames(), chosen: filter.queue),
      text: filter.text ?? "", since: query["since"] ?? "", until: query["until"] ?? "",
      searched: JobListPages.searched(page), hasJobs: !page.items.isEmpty,
      jobs: page.items.map { JobRow($0, now: now) },
      none: page.next == nil ? "No matching jobs." : "None among these: the next page searches further.",
      next: page.next.map { cursor in
        DashboardLink.to(
          "jobs",
          ["state", "kind", "queue", "text", "since", "until"].map { ($0, query[$0]) } + [("before", cursor)])
      })
    return try await visit.page("jobs", title: "Jobs", model)
  }

  /// How far the search went, if no index covers the filter.
  static func searched(_ page: JobPage) -> String? {
    page.searched.map {
      "Searched \(PageFormat.number($0)) jobs" + (page.next == nil ? "." : "; the next page continues.")
    }
  }
}
