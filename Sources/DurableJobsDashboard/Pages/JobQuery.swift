import DurableJobsAdmin
import Foundation
import HTTPTypes

/// The conditions of a job list in an address or a form.
struct JobQuery {
  /// A condition as a hidden field.
  struct Field {
    let name: String
    let value: String
  }

  private let form: DashboardForm
  private let state: JobState?
  private let since: Date?
  private let until: Date?

  private static let names = ["state", "kind", "queue", "text", "error", "since", "until"]

  /// - Throws: `DashboardRefusal` of status 422 for a state or a time that is none.
  init(_ form: DashboardForm) throws {
    self.form = form
    state = try form["state"].map { text throws(DashboardRefusal) in
      guard let state = JobState(rawValue: text) else {
        throw DashboardRefusal(.unprocessableContent, "Unknown state", "Choose one from the list.")
      }
      return state
    }
    since = try form.date("since")
    until = try form.date("until")
  }

  subscript(name: String) -> String? { form[name] }

  /// Whether it searches in texts, which reads many jobs.
  var isSearch: Bool { form["text"] != nil || form["error"] != nil }

  func filter(_ visit: DashboardVisit) -> JobFilter {
    var filter = JobFilter(
      state: state, kind: form["kind"], queue: form["queue"], text: form["text"], error: form["error"], since: since,
      until: until, before: form["before"])
    filter.blotted = visit.blotted
    return filter
  }

  /// The conditions for a form.
  var fields: [Field] { Self.names.compactMap { name in form[name].map { Field(name: name, value: $0) } } }

  /// The list with the same conditions.
  func link(_ path: String, before: String? = nil) -> String {
    DashboardLink.to(path, Self.names.map { ($0, form[$0]) } + [("before", before)])
  }

  /// The jobs in words, such as `dead letters of posts.fan-out in fanout`.
  func text(of what: String) -> String {
    var text = what
    if let kind = form["kind"] { text += " of \(PageFormat.line(kind))" }
    if let queue = form["queue"] { text += " in \(PageFormat.line(queue))" }
    if let payload = form["text"] { text += " with “\(PageFormat.line(payload, limit: 60))” in the payload" }
    if let error = form["error"] { text += " with “\(PageFormat.line(error, limit: 60))” in the error" }
    if let since = form["since"] { text += " since \(PageFormat.line(since, limit: 30))" }
    if let until = form["until"] { text += " until \(PageFormat.line(until, limit: 30))" }
    return text
  }
}
