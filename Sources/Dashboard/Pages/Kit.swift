import DurableJobsAdmin
import Foundation
import HTTPTypes
import Hummingbird
import LibPQClient

/// What all pages share: how they are put together, and how a form's target answers.
struct Kit: Sendable {
  let pages: Pages
  let sessions: AdminSessions
  /// Where lists are read that may be a second old.
  let reads: PostgresReads
  let now: @Sendable () -> Date

  /// A page for an operator. What was left for it to say is said, once.
  func page(
    _ visit: Visit, _ template: String, title: String, at place: String, _ model: Any,
    status: HTTPResponse.Status = .ok
  ) async throws -> Response {
    let html = pages.render(template, title: title, at: place, for: visit.session, model)
    if visit.session.notice != nil { try await sessions.leave(nil, for: visit.session.token) }
    return .html(html, status: status)
  }

  /// Reads a list: what may be a second old, unless the operator has just changed something.
  func read<Result>(
    _ visit: Visit, _ body: (PostgresPool) async throws -> Result
  ) async throws -> Result {
    visit.hasActed ? try await body(sessions.pool) : try await reads.read(body)
  }

  /// Leads on to a page that says what was done.
  func done(_ visit: Visit, _ notice: String, to path: String) async throws -> Response {
    try await sessions.leave(notice, for: visit.session.token)
    return .seeOther(path)
  }

  /// The question before something that cannot be taken back; nil once it has been answered with yes.
  func confirm(
    _ visit: Visit, _ form: Form, _ question: String, _ consequence: String, label: String, back: String
  ) -> Response? {
    if form["confirmed"] == "yes" { return nil }
    let fields = form.without(["form", "confirmed"]).map { Confirmation.Field(name: $0.name, value: $0.value) }
    let model = Confirmation(
      question: question, consequence: consequence, label: label, action: visit.request.uri.path, back: back,
      fields: fields)
    return .html(pages.render("confirm", title: question, at: nil, for: visit.session, model))
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

  /// A refusal as a page.
  func refusal(_ refusal: Refusal, for session: AdminSession?) -> Response {
    let model = Message(
      heading: refusal.title, message: refusal.message, settings: nil, back: "/admin",
      backLabel: session == nil ? "Sign in" : "Overview")
    var response = Response.html(
      pages.render("message", title: refusal.title, at: nil, for: session, model), status: refusal.status)
    if let seconds = refusal.retryAfter { response.headers[.retryAfter] = String(seconds) }
    return response
  }

  struct Message {
    let heading: String
    let message: String
    let settings: String?
    let back: String?
    let backLabel: String
  }

  func moment(_ date: Date) -> Moment { Moment(date, now: now()) }
  func moment(_ date: Date?) -> Moment? { Moment(date, now: now()) }
}

/// One of a list's choices.
struct Choice {
  let value: String
  let isChosen: Bool

  static func all(_ values: [String], chosen: String?) -> [Choice] {
    values.map { Choice(value: $0, isChosen: $0 == chosen) }
  }
}

extension Form {
  /// A time as a browser's field for it sends it, `2026-11-21T18:52`, taken as UTC; nil if it is not there.
  ///
  /// - Throws: `Refusal` of status 422 for what is no time.
  func date(_ name: String) throws(Refusal) -> Date? {
    guard let text = self[name] else { return nil }
    let full = text.count == 16 ? text + ":00" : text
    do {
      return try Date(full.hasSuffix("Z") ? full : full + "Z", strategy: .iso8601)
    } catch {
      throw Refusal(.unprocessableContent, "That is no time", "A time looks like 2026-11-21T18:52, in UTC.")
    }
  }
}
