import DurableJobsAdmin
import Foundation
import Hummingbird

/// Dead letters, with actions on one or many.
struct DeadPages: DashboardPages {
  let jobs: JobAdmin
  let work: BulkWork
  let queueNames: @Sendable () async throws -> [String]

  var menu: [DashboardMenuEntry] { [DashboardMenuEntry("Dead letters", path: "dead")] }

  func add(to routes: inout DashboardRoutes) {
    routes.page("dead", list)
    routes.action("dead", act)
  }

  private struct Model {
    let work: [String]
    let kindText: String
    let kinds: [String]
    let queues: [PageChoice]
    let text: String
    let errorText: String
    let since: String
    let searched: String?
    let isChoice: Bool
    /// A search reads too much to be repeated every two seconds.
    let isLive: Bool
    let conditions: [JobQuery.Field]
    let what: String
    let hasJobs: Bool
    let jobs: [JobRow]
    let none: String
    let next: String?
  }

  @Sendable private func list(_ visit: DashboardVisit) async throws -> Response {
    let query = try JobQuery(visit.query)
    var filter = query.filter(visit)
    filter.state = .dead
    let page = try await visit.readJobs { [filter] in try await JobAdmin.page(filter, on: $0) }
    let model = Model(
      work: work.sentences, kindText: filter.kind ?? "", kinds: jobs.kinds.names,
      queues: PageChoice.all(try await queueNames(), chosen: filter.queue), text: filter.text ?? "",
      errorText: filter.error ?? "", since: query["since"] ?? "", searched: JobListPages.searched(page),
      isChoice: visit.mayAct, isLive: !query.isSearch, conditions: query.fields, what: query.text(of: "dead letters"),
      hasJobs: !page.items.isEmpty, jobs: page.items.map { JobRow($0, for: visit) },
      none: page.next == nil
        ? "None: every job is done, pending or deleted."
        : "None among these: the next page searches further.",
      next: page.next.map { query.link("dead", before: $0) })
    return try await visit.page("dead", title: "Dead letters", model)
  }

  @Sendable private func act(_ visit: DashboardVisit, _ form: DashboardForm) async throws -> Response {
    let query = try JobQuery(form)
    let filter = query.filter(visit)
    let back = query.link("dead")
    let whole = "all " + query.text(of: "dead letters")
    switch form["do"] {
    case "retry":
      let ids = try chosen(form)
      return try await each(ids, "pending again", visit, back) { _ = try await jobs.retry($0, by: visit.actor) }
    case "delete":
      let ids = try chosen(form)
      let question = visit.confirm(
        form, ids.count == 1 ? "Delete one dead letter?" : "Delete \(ids.count) dead letters?",
        "They will not be retried. This cannot be undone.", label: "Delete", back: back)
      if let question { return question }
      return try await each(ids, "deleted", visit, back) { _ = try await jobs.delete($0, by: visit.actor) }
    case "retry-all":
      let question = visit.confirm(
        form, "Retry \(whole)?", "Each is pending again, starting with its first attempt.", label: "Retry all",
        back: back)
      if let question { return question }
      let actor = visit.actor
      let outcome = try await work.start("Retrying \(whole)") { [jobs] progress in
        .done(try await jobs.deadLetters.retry(.all(filter), by: actor, progress: progress).count)
      }
      return try await visit.done(outcome.sentence("pending again", in: "the dead letters"), to: back)
    case "delete-all":
      let question = visit.confirm(
        form, "Delete \(whole)?", "They will not be retried. This cannot be undone.",
        label: "Delete all", back: back)
      if let question { return question }
      let actor = visit.actor
      let outcome = try await work.start("Deleting \(whole)") { [jobs] progress in
        .done(try await jobs.deadLetters.delete(.all(filter), by: actor, progress: progress).count)
      }
      return try await visit.done(outcome.sentence("deleted", in: "the dead letters"), to: back)
    default:
      throw DashboardRefusal(.unprocessableContent, "Missing field", "The form needs the field do.")
    }
  }

  /// - Throws: `DashboardRefusal` of status 422 if none is chosen, or more than a page has.
  private func chosen(_ form: DashboardForm) throws(DashboardRefusal) -> [String] {
    let ids = form.all("id")
    guard 1...500 ~= ids.count else {
      throw DashboardRefusal(
        .unprocessableContent, "None is selected", "Select up to 500 dead letters and try again.")
    }
    return ids
  }

  /// Applies an action to each and reports the results. One that is gone meanwhile does not stop the others.
  private func each(
    _ ids: [String], _ done: String, _ visit: DashboardVisit, _ back: String, _ body: (String) async throws -> Void
  ) async throws -> Response {
    var (count, refusals) = (0, [String]())
    for id in ids {
      do {
        try await body(id)
        count += 1
      } catch let error as OperationError where error.code == .conflict || error.code == .notFound {
        refusals.append(error.message)
      }
    }
    var notice = BulkWork.Outcome?.some(.done(count)).sentence(done, in: "the dead letters")
    if let first = refusals.first { notice += " \(refusals.count) are unchanged: \(PageFormat.line(first))" }
    return try await visit.done(notice, to: back)
  }
}
