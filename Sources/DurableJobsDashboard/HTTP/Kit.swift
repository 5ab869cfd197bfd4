import DurableJobsAdmin
import DurableJobsPostgres
import Foundation
import Hummingbird
import LibPQClient

/// The services shared by all requests.
struct Kit: Sendable {
  let renderer: Renderer
  let database: JobsDatabase
  /// The database for lists that may be a second old.
  let reads: PostgresReads
  let pages: [any DashboardPages]
  let now: @Sendable () -> Date
  let terms: DoctorTerms
  /// The dashboard's own origin as browsers send it; nil accepts the host of the request.
  let origin: String?
  /// The program's name for the setting behind `origin`.
  let originSetting: String?

  /// Whether browsers connect over TLS only.
  var isSecure: Bool { origin?.hasPrefix("https://") == true }

  /// The refusal that an error means for the visitor.
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
