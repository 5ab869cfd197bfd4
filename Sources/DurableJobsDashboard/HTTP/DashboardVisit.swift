import DurableJobsAdmin
import DurableJobsPostgres
import Foundation
import HTTPTypes
import Hummingbird
import LibPQClient

/// A request to a page or an action, with its visitor and its responses.
public struct DashboardVisit: Sendable {
  /// The hidden field of every form, with the visitor's token.
  static let tokenField = "form"

  /// Whether the page is open in a browser and asks for its parts again.
  let isUpdate: Bool

  public let request: Request
  /// The context made by the app's router and middleware.
  public let context: any RequestContext
  /// The address's query.
  public let query: DashboardForm

  let visitor: Visitor?
  let kit: Kit
  let mount: MountPath
  /// The path of the route, relative to the mount.
  let route: String
  let parameters: Parameters
  let admission: Admission

  // MARK: The visitor

  /// The visitor, as the action log names it; a read-only operator on an open page.
  public var actor: Operator { visitor?.actor ?? Operator(name: "nobody", role: .readOnly) }

  /// The visitor's name.
  public var name: String { actor.name }

  /// Whether the visitor may act: otherwise a page offers no actions.
  public var mayAct: Bool { visitor?.mayAct ?? false }

  /// Whether the visitor made a change in the last seconds, which pages then must show. An open page that began so
  /// stays with it.
  var hasActed: Bool { ActedCookie.isSet(in: request) }

  // MARK: The request

  /// A parameter of the route's path, with its percent-encoding removed.
  ///
  /// - Throws: a refusal of status 404 for text that is not UTF-8 or contains a zero byte.
  public func parameter(_ name: String) throws -> String {
    let text = try parameters.require(name)
    guard let decoded = text.removingPercentEncoding, !decoded.utf8.contains(0) else {
      throw DashboardRefusal(.notFound, "Not found", "There is no page at this address.")
    }
    return decoded
  }

  /// The form of an open route; actions receive theirs as an argument.
  ///
  /// - Throws: an error of status 413 for more than 1 MiB.
  public func form() async throws -> DashboardForm { try await DashboardForm(bodyOf: request) }

  // MARK: Links

  /// The path of a page.
  ///
  /// - Parameters:
  ///   - address: relative to the mount, such as `jobs`; empty for the overview.
  ///   - fields: the fields of the query; those without a value are left out.
  public func link(_ address: String, _ fields: (String, String?)...) -> String {
    mount.link(DashboardLink.to(address, fields))
  }

  /// Whether an untrusted address, such as the redirect target after signing in, leads to a page of this dashboard and
  /// nowhere else.
  public func isOwn(_ address: String) -> Bool { mount.contains(address) }

  // MARK: Reading

  /// Reads a list that may be a second old: from the replica if there is one, unless the visitor has just acted.
  public func read<Result>(_ body: (PostgresPool) async throws -> Result) async throws -> Result {
    hasActed ? try await body(kit.database.pool) : try await kit.reads.read(body)
  }

  /// Reads a list of the queue the same way.
  func readJobs<Result>(_ body: (JobsDatabase) async throws -> Result) async throws -> Result {
    try await read { try await body(JobsDatabase(pool: $0, schema: kit.database.schema)) }
  }

  /// The time now.
  public var now: Date { kit.now() }

  /// A time as pages show it.
  public func moment(_ date: Date) -> PageMoment { PageMoment(date, now: now) }

  /// A time as pages show it; nil for none.
  public func moment(_ date: Date?) -> PageMoment? { PageMoment(date, now: now) }

  /// A text without the secrets that no page shows, for texts that a page shortens.
  public func masked(_ text: String) -> String { kit.renderer.masked(text) }

  /// Secrets that no search may reveal.
  var blotted: [String] { kit.renderer.blotted }

  // MARK: Answering

  /// A page in the dashboard's frame.
  ///
  /// While the page is open, its handler runs again every two seconds, and what has changed in the template's elements
  /// with an `id` and the attribute `data-part` is replaced in the browser.
  ///
  /// - Parameters:
  ///   - template: the name of one of `DashboardPages.templates`.
  ///   - model: the template's values: a struct or a dictionary.
  /// - Throws: for a missing template.
  public func page(
    _ template: String, title: String, _ model: Any, status: HTTPResponse.Status = .ok
  ) async throws -> Response {
    guard kit.renderer.has(template) else {
      throw OperationError(.failed, "no page of the dashboard has a template '\(template)'")
    }
    if isUpdate { return .html(kit.renderer.part(template, at: mount, for: visitor, model), status: status) }
    var response = Response.html(
      kit.renderer.page(template, title: title, in: route, at: mount, for: visitor, model), status: status)
    if let visitor, visitor.notice != nil { try await visitor.leave(nil, in: &response) }
    return response
  }

  /// A page in the dashboard's frame whose content is HTML.
  ///
  /// - Parameter html: sent to the browser as it is, so escape untrusted values. Browsers run no inline scripts or
  ///   styles.
  public func page(html: String, title: String) async throws -> Response {
    try await page("html", title: title, ["html": html])
  }

  /// Redirects to another page.
  ///
  /// - Parameter address: relative to the mount; see `DashboardLink.to`.
  public func redirect(to address: String) -> Response { .redirect(to: mount.link(address)) }

  /// Redirects to a page with a notice of what an action has done.
  ///
  /// - Parameter address: relative to the mount; see `DashboardLink.to`.
  public func done(_ notice: String, to address: String) async throws -> Response {
    var response = Response.redirect(to: mount.link(address))
    try await visitor?.leave(notice, in: &response)
    return response
  }

  /// The confirmation page before an action that cannot be undone; nil once it is confirmed.
  ///
  /// - Parameters:
  ///   - form: the action's form, which is sent again with the answer.
  ///   - consequence: the result of the action, in a sentence.
  ///   - label: the label of the confirming button.
  ///   - back: the target of the cancelling link: an address relative to the mount.
  public func confirm(
    _ form: DashboardForm, _ question: String, _ consequence: String, label: String, back: String
  ) -> Response? {
    if form["confirmed"] == "yes" { return nil }
    let fields = form.without([Self.tokenField, "confirmed"]).map {
      Confirmation.Field(name: $0.name, value: $0.value)
    }
    let model = Confirmation(
      question: question, consequence: consequence, label: label, action: request.uri.path, back: mount.link(back),
      fields: fields)
    return .html(kit.renderer.page("confirm", title: question, in: nil, at: mount, for: visitor, model))
  }

  private struct Confirmation {
    let question: String
    let consequence: String
    let label: String
    let action: String
    let back: String
    let fields: [Field]

    struct Field {
      let name: String
      let value: String
    }
  }
}
