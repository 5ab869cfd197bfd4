import DurableJobsAdmin
import Foundation

/// Charts of the last hour, day or week.
struct Figures: Sendable {
  let statistics: Statistics

  /// A link to another window.
  struct Tab: Sendable {
    let label: String
    let href: String
    let isCurrent: Bool
  }

  /// The window that an address names; the last hour if it names none, or an unknown one.
  static func window(_ text: String?) -> Statistics.Window { text.flatMap(Statistics.Window.init(rawValue:)) ?? .hour }

  static func tabs(_ current: Statistics.Window, at path: String) -> [Tab] {
    Statistics.Window.allCases.map { window in
      Tab(
        label: window.rawValue.prefix(1).uppercased() + window.rawValue.dropFirst(),
        href: window == .hour ? path : DashboardLink.to(path, ("window", window.rawValue)), isCurrent: window == current
      )
    }
  }

  /// The charts of throughput and failures.
  func charts(_ window: Statistics.Window, queue: String? = nil) async throws -> [Chart] {
    let points = try await statistics.series(window, queue: queue, kind: nil)
    // All steps have the same length.
    let minutes = points.count > 1 ? max(1, points[1].at.timeIntervalSince(points[0].at) / 60) : 1
    let span = minutes * 60 * Double(points.count)
    return [
      Chart(
        id: "throughput", title: "Jobs done", unit: "a minute", [Chart.Series(name: "Done", style: "done")],
        // The last step is incomplete and would show a false drop.
        points.dropLast().map { Chart.Column(at: $0.at, values: [Double($0.completed) / minutes]) }, isArea: true,
        span: span),
      Chart(
        id: "failures", title: "Failed attempts and dead letters", unit: "a minute",
        [Chart.Series(name: "Failed", style: "failed"), Chart.Series(name: "Dead", style: "dead")],
        points.map { Chart.Column(at: $0.at, values: [Double($0.failed) / minutes, Double($0.dead) / minutes]) },
        isArea: false, span: span),
    ]
  }
}
