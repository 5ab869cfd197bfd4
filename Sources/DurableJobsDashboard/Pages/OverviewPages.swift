import DurableJobsAdmin
import Foundation
import Hummingbird

/// The overview, and the stream that updates it.
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
        // The stream ends for a visitor who would no longer be admitted.
        guard try await visit.admission.isOpen() else { return nil }
        return try await parts(window, visit)
      }
    }
  }

  /// The parts as text. Visitors of the same window share one reading per second.
  private func parts(_ window: Statistics.Window, _ visit: DashboardVisit) async throws -> String {
    let name = visit.link("", ("window", window.rawValue))
    if let text = streams.kept(name, at: visit.now) { return text }
    let text = visit.kit.renderer.part("overview-parts", at: visit.mount, try await desk.look(window))
    streams.keep(text, as: name, at: visit.now)
    return text
  }
}
