import DurableJobsAdmin
import DurableJobsPostgres
import Foundation
import Hummingbird

/// Jobs: search and filter.
struct JobListPages: Sendable {
  let kit: Kit
  let jobs: JobAdmin
  let queueNames: @Sendable () async throws -> [String]

  func add(to routes: inout Routes) {
    routes.page("jobs", list)
    routes.page("jobs/find") { visit in
      guard let id = visit.query["id"]?.trimmingCharacters(in: .whitespaces) else { return .seeOther("/admin/jobs") }
      return .seeOther("/admin/jobs/" + Link.escape(id))
    }
  }

  private struct Model {
    let states: [Choice]
    let kind: String
    let kinds: [String]
    let queues: [Choice]
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

  @Sendable private func list(_ visit: Visit) async throws -> Response {
    let query = visit.query
    let state = try query["state"].map { text throws(Refusal) in
      guard let state = JobState(rawValue: text) else {
        throw Refusal(.unprocessableContent, "There is no such state", "Choose one of the list.")
      }
      return state
    }
    var filter = JobFilter()
    filter.state = state
    filter.kind = query["kind"]
    filter.queue = query["queue"]
    filter.text = query["text"]
    filter.blotted = kit.pages.blotted
    filter.since = try query.date("since")
    filter.until = try query.date("until")
    filter.before = query["before"]
    let page = try await kit.read(visit) { try await JobAdmin.page(filter, on: JobsDatabase(pool: $0)) }
    let now = kit.now()
    let model = Model(
      states: Choice.all(JobState.allCases.map(\.rawValue), chosen: state?.rawValue), kind: filter.kind ?? "",
      kinds: jobs.kinds.names, queues: Choice.all(try await queueNames(), chosen: filter.queue),
      text: filter.text ?? "", since: query["since"] ?? "", until: query["until"] ?? "",
      searched: JobListPages.searched(page), hasJobs: !page.items.isEmpty,
      jobs: page.items.map { JobRow($0, now: now) },
      none: page.next == nil ? "No job is like this." : "None among these: the next page looks further.",
      next: page.next.map { cursor in
        Link.to(
          "/admin/jobs",
          ["state", "kind", "queue", "text", "since", "until"].map { ($0, query[$0]) } + [("before", cursor)])
      })
    return try await kit.page(visit, "jobs", title: "Jobs", at: "/admin/jobs", model)
  }

  /// How far the search went, where it had no index to go by.
  static func searched(_ page: JobPage) -> String? {
    page.searched.map { "Looked at \(Format.number($0)) jobs" + (page.next == nil ? "." : "; the next page goes on.") }
  }
}
