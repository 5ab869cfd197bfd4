import DurableJobsAdmin
import Foundation
import Hummingbird

/// The overview, and the stream that keeps it up to date.
struct OverviewPages: DashboardPages {
  let desk: OverviewDesk
  let streams: LiveStreams

  var menu: [DashboardMenuEntry] { [DashboardMenuEntry("Overview", path: "")] }

  func add(to routes: inout DashboardRoutes) {
    routes.page("") { visit in
      let overview = try await desk.look(Figures.window(visit.query["window"]))
      return try await visit.page("overview", title: "Overview", overview)
    }
    routes.page("live") { visit in
      let window = Figures.window(visit.query["window"])
      return try streams.open(visit.context) {
        // A visitor who would not be let in any more sees no more.
        guard try await visit.admission.isOpen() else { return nil }
        return try await parts(window, visit)
      }
    }
  }

  /// The parts as text. Visitors of the same window within a second share one look.
  private func parts(_ window: Statistics.Window, _ visit: DashboardVisit) async throws -> String {
    let name = visit.link("", ("window", window.rawValue))
    if let text = streams.kept(name, at: visit.now) { return text }
    let text = visit.kit.renderer.part("overview-parts", at: visit.mount, try await desk.look(window))
    streams.keep(text, as: name, at: visit.now)
    return text
  }
}
