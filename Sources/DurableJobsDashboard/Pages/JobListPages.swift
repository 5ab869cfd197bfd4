import DurableJobsAdmin
import Foundation
import Hummingbird

/// Jobs: search and filter.
struct JobListPages: DashboardPages {
  let jobs: JobAdmin
  let work: BulkWork
  let queueNames: @Sendable () async throws -> [String]

  var menu: [DashboardMenuEntry] { [DashboardMenuEntry("Jobs", path: "jobs")] }

  func add(to routes: inout DashboardRoutes) {
    routes.page("jobs", list)
    routes.action("jobs", act)
    routes.page("jobs/find") { visit in
      guard let id = visit.query["id"]?.trimmingCharacters(in: .whitespaces) else { return visit.redirect(to: "jobs") }
      return visit.redirect(to: "jobs/" + DashboardLink.escape(id))
    }
  }

  private struct Model {
    let work: [String]
    let states: [PageChoice]
    let kind: String
    let kinds: [String]
    let queues: [PageChoice]
    let text: String
    let errorText: String
    let since: String
    let until: String
    let searched: String?
    let isChoice = false
    /// A search reads too much to be repeated every two seconds.
    let isLive: Bool
    let cancels: Bool
    let conditions: [JobQuery.Field]
    let what: String
    let hasJobs: Bool
    let jobs: [JobRow]
    let none: String
    let next: String?
  }

  @Sendable private func list(_ visit: DashboardVisit) async throws -> Response {
    let query = try JobQuery(visit.query)
    let filter = query.filter(visit)
    let page = try await visit.readJobs { try await JobAdmin.page(filter, on: $0) }
    let model = Model(
      work: work.sentences,
      states: PageChoice.all(JobState.allCases.map(\.rawValue), chosen: filter.state?.rawValue),
      kind: filter.kind ?? "", kinds: jobs.kinds.names,
      queues: PageChoice.all(try await queueNames(), chosen: filter.queue), text: filter.text ?? "",
      errorText: filter.error ?? "", since: query["since"] ?? "", until: query["until"] ?? "",
      searched: JobListPages.searched(page), isLive: !query.isSearch,
      cancels: !page.items.isEmpty && filter.state?.isPending ?? true, conditions: query.fields,
      what: query.text(of: filter.state.map { "\($0.rawValue) jobs" } ?? "pending jobs"), hasJobs: !page.items.isEmpty,
      jobs: page.items.map { JobRow($0, for: visit) },
      none: page.next == nil ? "No matching jobs." : "None among these: the next page searches further.",
      next: page.next.map { query.link("jobs", before: $0) })
    return try await visit.page("jobs", title: "Jobs", model)
  }

  @Sendable private func act(_ visit: DashboardVisit, _ form: DashboardForm) async throws -> Response {
    guard form["do"] == "cancel-all" else {
      throw DashboardRefusal(.unprocessableContent, "Missing field", "The form needs the field do.")
    }
    let query = try JobQuery(form)
    let filter = query.filter(visit)
    let whole = query.text(of: filter.state.map { "\($0.rawValue) jobs" } ?? "pending jobs")
    let back = query.link("jobs")
    let question = visit.confirm(
      form, "Cancel all \(whole)?",
      "They are no longer pending; those that run are stopped and their transactions rolled back. "
        + "This cannot be undone; the list of cancelled jobs keeps them for a few days.",
      label: "Cancel all", back: back)
    if let question { return question }
    let actor = visit.actor
    let outcome = try await work.start("Cancelling all \(whole)") { [jobs] progress in
      let (cancelled, ordered) = try await jobs.cancel(all: filter, by: actor, progress: progress)
      return .done(cancelled, ordered: ordered)
    }
    return try await visit.done(outcome.sentence("cancelled", in: "the list"), to: back)
  }

  /// How far the search went, if no index covers the filter.
  static func searched(_ page: JobPage) -> String? {
    page.searched.map {
      "Searched \(PageFormat.number($0)) jobs" + (page.next == nil ? "." : "; the next page continues.")
    }
  }
}
