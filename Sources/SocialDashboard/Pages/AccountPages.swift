import DurableJobs
import DurableJobsAdmin
import DurableJobsDashboard
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import Hummingbird
import Social
import SocialAdmin

/// Accounts: their owners, and how to suspend and restore them.
struct AccountPages: DashboardPages {
  let accounts: AccountAdmin
  let jobs: JobClient<RedisBroker, PostgresLedger>

  let menu = [DashboardMenuEntry("Accounts", path: "accounts")]
  let templates = [
    "accounts": String(decoding: PackageResources.accounts_mustache, as: UTF8.self),
    "account": String(decoding: PackageResources.account_mustache, as: UTF8.self),
  ]

  func add(to routes: inout DashboardRoutes) {
    routes.page("accounts", list)
    routes.page("accounts/{name}", show)
    routes.action("accounts/{name}/suspend") { visit, form in
      let name = try visit.parameter("name")
      let reason = try form.reason()
      let question = visit.confirm(
        form, "Suspend \(name)?",
        "Its sessions end, it cannot sign in, and everything it wrote is hidden until it is restored.",
        label: "Suspend", back: Self.address(of: name))
      if let question { return question }
      _ = try await accounts.suspend(name, because: reason, by: visit.actor, through: jobs)
      return try await visit.done("\(name) is suspended.", to: Self.address(of: name))
    }
    routes.action("accounts/{name}/delete") { visit, form in
      let name = try visit.parameter("name")
      let reason = try form.reason()
      let question = visit.confirm(
        form, "Delete \(name)?", "The account and everything in it is deleted immediately. This cannot be undone.",
        label: "Delete", back: Self.address(of: name))
      if let question { return question }
      try await accounts.delete(name, because: reason, by: visit.actor, through: jobs)
      return try await visit.done("\(name) is deleted; a worker removes what it wrote.", to: "accounts")
    }
    routes.action("accounts/{name}/restore") { visit, form in
      let account = try await accounts.restore(
        try visit.parameter("name"), because: try form.reason(), by: visit.actor, through: jobs)
      return try await visit.done("\(account.username) is \(account.state).", to: Self.address(of: account.username))
    }
    routes.action("accounts/{name}/email") { visit, form in
      let account = try await accounts.setEmail(
        try form.require("email"), of: try visit.parameter("name"), by: visit.actor)
      return try await visit.done(
        "\(account.username) has the address \(account.email ?? "").", to: Self.address(of: account.username))
    }
  }

  func refusal(of error: any Error) -> DashboardRefusal? { DashboardRefusal(ofSocial: error) }

  private static let anyState = "any"
  private static let suspended = "suspended"
  private static let notSuspended = "not suspended"

  private static func address(of name: String) -> String { DashboardLink.to("accounts/\(name)") }

  private static func style(_ state: String) -> String {
    switch state {
    case "suspended": "bad"
    case "unconfirmed": "still"
    default: "ok"
    }
  }

  private struct Model {
    let query: String
    let states: [PageChoice]
    let hasAccounts: Bool
    let accounts: [Row]
    let next: String?
  }

  private struct Row {
    let username: String
    let address: String
    let name: String
    let email: String
    let state: String
    let style: String
    let sessions: String
    let opened: PageMoment
  }

  @Sendable private func list(_ visit: DashboardVisit) async throws -> Response {
    let state = visit.query["state"] ?? Self.anyState
    let page = try await accounts.list(
      beginningWith: visit.query["query"],
      isSuspended: state == Self.suspended ? true : state == Self.notSuspended ? false : nil,
      before: visit.query["before"])
    let rows = page.items.map { account in
      Row(
        username: account.username, address: Self.address(of: account.username), name: account.name,
        email: account.email ?? "", state: account.state, style: Self.style(account.state),
        sessions: PageFormat.number(account.sessions), opened: visit.moment(account.createdAt))
    }
    let model = Model(
      query: visit.query["query"] ?? "",
      states: PageChoice.all([Self.anyState, Self.suspended, Self.notSuspended], chosen: state),
      hasAccounts: !rows.isEmpty, accounts: rows,
      next: page.next.map {
        DashboardLink.to("accounts", ("query", visit.query["query"]), ("state", state), ("before", $0))
      })
    return try await visit.page("accounts", title: "Accounts", model)
  }

  private struct Page {
    let username: String
    let address: String
    let pictures: String
    let state: String
    let style: String
    let isSuspended: Bool
    let facts: [Fact]
  }

  private struct Fact {
    let label: String
    let value: String
  }

  @Sendable private func show(_ visit: DashboardVisit) async throws -> Response {
    let account: AccountRecord
    do {
      account = try await accounts.show(try visit.parameter("name"))
    } catch let moved as AccountMoved {
      return visit.redirect(to: Self.address(of: moved.to))
    }
    var facts = [
      Fact(label: "Name", value: account.name), Fact(label: "Email", value: account.email ?? "none"),
      Fact(label: "Password", value: account.hasPassword ? "set" : "none"),
      Fact(label: "Sessions", value: PageFormat.number(account.sessions)),
      Fact(label: "Pictures", value: "\(PageFormat.number(account.pictures)) bytes"),
      Fact(label: "Opened", value: visit.moment(account.createdAt).text),
    ]
    if let reason = account.reason { facts.append(Fact(label: "Suspended", value: reason)) }
    if !account.formerNames.isEmpty {
      facts.append(Fact(label: "Former names", value: account.formerNames.joined(separator: ", ")))
    }
    let model = Page(
      username: account.username, address: Self.address(of: account.username),
      pictures: DashboardLink.to("pictures", ("owner", account.username)), state: account.state,
      style: Self.style(account.state), isSuspended: account.state == "suspended", facts: facts)
    return try await visit.page("account", title: account.username, model)
  }
}
