import DurableJobsAdmin
import Foundation
import Hummingbird
import Locking

/// The overview.
struct OverviewPages: DashboardPages {
  let reader: OverviewReader
  private let latest = Locked<[Statistics.Window: (overview: Overview, at: Date)]>([:])

  init(reader: OverviewReader) { self.reader = reader }

  var menu: [DashboardMenuEntry] { [DashboardMenuEntry("Overview", path: "")] }

  func add(to routes: inout DashboardRoutes) {
    routes.page("") { visit in
      try await visit.page(
        "overview", title: "Overview", try await overview(Figures.window(visit.query["window"]), visit))
    }
  }

  /// Open pages of the same window share one reading per second.
  private func overview(_ window: Statistics.Window, _ visit: DashboardVisit) async throws -> Overview {
    if visit.isUpdate, let latest = latest.withLock({ $0[window] }), abs(visit.now.timeIntervalSince(latest.at)) < 1 {
      return latest.overview
    }
    let overview = try await reader.overview(window)
    latest.withLock { $0[window] = (overview, visit.now) }
    return overview
  }
}
