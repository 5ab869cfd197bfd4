import DurableJobsAdmin
import Foundation
import Hummingbird
import Locking
import ServiceLifecycle

/// The overview, and the stream that keeps it up to date.
struct OverviewPages: Sendable {
  let kit: Kit
  let desk: OverviewDesk
  let streams: LiveStreams

  func add(to routes: inout Routes) {
    routes.page("") { visit in
      let overview = try await desk.look(Figures.window(visit.query["window"]))
      return try await kit.page(visit, "overview", title: "Overview", at: "/admin", overview)
    }
    routes.page("live") { visit in
      let window = Figures.window(visit.query["window"])
      let token = visit.session.token
      return try streams.open(visit.context) {
        // A session that has ended sees no more.
        guard try await kit.sessions.find(token) != nil else { return nil }
        return try await parts(window)
      }
    }
  }

  /// The parts as text. All who look at the same window within a second share one look.
  private func parts(_ window: Statistics.Window) async throws -> String {
    if let text = streams.kept(window.rawValue, at: kit.now()) { return text }
    let text = kit.pages.part("overview-parts", try await desk.look(window))
    streams.keep(text, as: window.rawValue, at: kit.now())
    return text
  }
}
