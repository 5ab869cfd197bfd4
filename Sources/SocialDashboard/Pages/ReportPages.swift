import DurableJobs
import DurableJobsAdmin
import DurableJobsDashboard
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import Hummingbird
import Social
import SocialAdmin

/// Reports and takedowns, and how to act on both.
struct ReportPages: DashboardPages {
  let safety: SafetyAdmin
  let jobs: JobClient<RedisBroker, PostgresLedger>

  let menu = [DashboardMenuEntry("Reports", path: "reports")]
  let templates = [
    "reports": String(decoding: PackageResources.reports_mustache, as: UTF8.self),
    "report": String(decoding: PackageResources.report_mustache, as: UTF8.self),
    "takedowns": String(decoding: PackageResources.takedowns_mustache, as: UTF8.self),
  ]

  func add(to routes: inout DashboardRoutes) {
    routes.page("reports", list)
    routes.page("reports/{id}", show)
    routes.page("takedowns", takedowns)
    routes.action("reports/{id}/resolve") { visit, form in
      let id = try Self.id(visit)
      let reason = try form.reason()
      let name = try form.require("as")
      guard let resolution = Reports.Resolution(rawValue: name) else {
        throw DashboardRefusal(.unprocessableContent, "No such resolution", "A report cannot be closed as '\(name)'.")
      }
      let report = try await safety.report(id)
      let consequence =
        switch resolution {
        case .dismissed: "The report is closed, and nothing else changes."
        case .takenDown: "\(report.subject) will be hidden, and its author notified with the reason."
        case .suspended:
          "\(report.author ?? "Its author") can no longer sign in, is hidden with all posts, and is notified with the "
            + "reason."
        }
      let question = visit.confirm(
        form, "\(Self.label(resolution)) \(report.subject)?", consequence, label: Self.label(resolution),
        back: "reports/\(id)")
      if let question { return question }
      _ = try await safety.resolve(id, as: resolution, because: reason, by: visit.actor, through: jobs)
      return try await visit.done("The report \(id) is closed.", to: "reports")
    }
    routes.action("takedowns/add") { visit, form in
      let (subject, reason) = (try form.require("subject"), try form.reason())
      let question = visit.confirm(
        form, "Take \(subject) down?", "It will be hidden, and its author notified with the reason.",
        label: "Take down",
        back: "takedowns")
      if let question { return question }
      try await safety.takeDown(subject, because: reason, by: visit.actor, through: jobs)
      return try await visit.done("\(subject) is now hidden, and its author is notified.", to: "takedowns")
    }
    routes.action("takedowns/restore") { visit, form in
      let (subject, reason) = (try form.require("subject"), try form.reason())
      try await safety.restore(subject, because: reason, by: visit.actor, through: jobs)
      return try await visit.done("\(subject) is visible again.", to: "takedowns")
    }
  }

  func refusal(of error: any Error) -> DashboardRefusal? { DashboardRefusal(ofSocial: error) }

  private static func id(_ visit: DashboardVisit) throws -> Int {
    guard let id = EntityID.parse(try visit.parameter("id")) else {
      throw OperationError(.notFound, "there is no such report")
    }
    return id
  }

  private static func label(_ resolution: Reports.Resolution) -> String {
    switch resolution {
    case .dismissed: "Dismiss"
    case .takenDown: "Take down"
    case .suspended: "Suspend the author of"
    }
  }

  private static let open = "open"
  private static let all = "all"

  private struct Model {
    let states: [PageChoice]
    let hasReports: Bool
    let reports: [Row]
    let next: String?
  }

  private struct Row {
    let id: Int
    let address: String
    let subject: String
    let reason: String
    let author: String?
    let excerpt: String
    let state: String
    let style: String
    let count: String
    let made: PageMoment
  }

  @Sendable private func list(_ visit: DashboardVisit) async throws -> Response {
    let state = visit.query["state"] ?? Self.open
    let page = try await safety.reports(isOpen: state == Self.all ? nil : true, before: visit.query["before"])
    let rows = page.items.map { report in
      Row(
        id: report.id, address: DashboardLink.to("reports/\(report.id)"), subject: report.subject,
        reason: report.reason, author: report.author, excerpt: String(report.excerpt.prefix(120)),
        state: report.resolution ?? Self.open, style: report.resolution == nil ? "warn" : "ok",
        count: PageFormat.number(report.count), made: visit.moment(report.createdAt))
    }
    let model = Model(
      states: PageChoice.all([Self.open, Self.all], chosen: state), hasReports: !rows.isEmpty, reports: rows,
      next: page.next.map { DashboardLink.to("reports", ("state", state), ("before", $0)) })
    return try await visit.page("reports", title: "Reports", model)
  }

  private struct Page {
    let id: Int
    let address: String
    let state: String
    let style: String
    let isOpen: Bool
    let canTakeDown: Bool
    let author: String?
    let text: String?
    let excerpt: String
    let facts: [Fact]
  }

  private struct Fact {
    let label: String
    let value: String
  }

  @Sendable private func show(_ visit: DashboardVisit) async throws -> Response {
    let report = try await safety.report(try Self.id(visit))
    var facts = [
      Fact(label: "Subject", value: report.subject), Fact(label: "Author", value: report.author ?? "gone"),
      Fact(label: "Reporter", value: report.reporter ?? "gone"), Fact(label: "Reason", value: report.reason),
      Fact(label: "Reports about it", value: PageFormat.number(report.count)),
      Fact(label: "Made", value: visit.moment(report.createdAt).text),
    ]
    if let end = report.resolvedAt { facts.append(Fact(label: "Closed", value: visit.moment(end).text)) }
    let canTakeDown =
      switch Subject(report.subject) {
      case .post, .comment, .picture: true
      case .account, .message, .agreement, nil: false
      }
    let model = Page(
      id: report.id, address: DashboardLink.to("reports/\(report.id)"), state: report.resolution ?? Self.open,
      style: report.resolution == nil ? "warn" : "ok", isOpen: report.resolution == nil, canTakeDown: canTakeDown,
      author: report.author.map { DashboardLink.to("accounts/\($0)") }, text: report.text.isEmpty ? nil : report.text,
      excerpt: report.excerpt, facts: facts)
    return try await visit.page("report", title: "Report \(report.id)", model)
  }

  /// The number of takedowns listed.
  private static let shown = 100

  private struct Downs {
    let hasTakedowns: Bool
    let takedowns: [Down]
    let hasMore: Bool
  }

  private struct Down {
    let subject: String
    let author: String?
    let reason: String
    let since: PageMoment
  }

  @Sendable private func takedowns(_ visit: DashboardVisit) async throws -> Response {
    let found = try await safety.takedowns(limit: Self.shown + 1)
    let rows = found.prefix(Self.shown).map { takedown in
      Down(
        subject: takedown.subject, author: takedown.author, reason: takedown.reason,
        since: visit.moment(takedown.takenDownAt))
    }
    let model = Downs(hasTakedowns: !rows.isEmpty, takedowns: rows, hasMore: found.count > rows.count)
    return try await visit.page("takedowns", title: "Takedowns", model)
  }
}

extension DashboardForm {
  /// The operator's reason for an action.
  ///
  /// - Throws: if the reason is missing or too long.
  func reason() throws -> String {
    let reason = try require("reason")
    guard reason.count <= 500 else {
      throw DashboardRefusal(.unprocessableContent, "Too long", "A reason may have at most 500 characters.")
    }
    return reason
  }
}
