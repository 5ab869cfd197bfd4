import DurableJobsAdmin
import DurableJobsPostgres
import Foundation
import Hummingbird
import LibPQClient

/// What all requests share.
struct Kit: Sendable {
  let renderer: Renderer
  let database: JobsDatabase
  /// Where lists are read that may be a second old.
  let reads: PostgresReads
  let pages: [any DashboardPages]
  let now: @Sendable () -> Date
  let terms: DoctorTerms
  /// The dashboard's own origin as browsers name it; nil for whatever host they asked.
  let origin: String?
  /// What the program calls the setting behind `origin`.
  let originSetting: String?

  /// Whether browsers come over TLS alone.
  var isSecure: Bool { origin?.hasPrefix("https://") == true }

  /// What an error is to the visitor.
  func refusal(of error: any Error) -> DashboardRefusal {
    if let refusal = DashboardRefusal(error, terms: terms) { return refusal }
    for pages in pages {
      if let refusal = pages.refusal(of: error) { return refusal }
    }
    return .internalError
  }

  /// A refusal as a page.
  func page(of refusal: DashboardRefusal, at mount: MountPath, for visitor: Visitor?) -> Response {
    let message = Message(
      heading: refusal.title, message: refusal.message, example: refusal.example,
      back: refusal.leadsBack ? mount.home : nil, backLabel: visitor == nil ? "Sign in" : "Overview")
    var response = Response.html(
      renderer.page("message", title: refusal.title, in: nil, at: mount, for: visitor, message),
      status: refusal.status)
    if let seconds = refusal.retryAfter { response.headers[.retryAfter] = String(seconds) }
    return response
  }

  private struct Message {
    let heading: String
    let message: String
    let example: String?
    let back: String?
    let backLabel: String
  }
}
