import Foundation

/// The measurements, in the order of the table.
struct Bench {
  private static let measurements: [(name: String, run: @Sendable (Stage) async throws -> [Figure])] = [
    ("drain", Drain.measure),
    ("enqueue", Enqueue.measure),
    ("latency", Latency.measure),
    ("idle", Idle.measure),
  ]

  static var names: [String] { measurements.map(\.name) }

  private let options: Options

  init(_ options: Options) { self.options = options }

  /// Measures, prints the report, and says whether every bound holds.
  func run() async throws -> Bool {
    let only = options.only
    let figures = try await Stage.with(runs: options.runs) { stage in
      var figures: [Figure] = []
      for (name, run) in Self.measurements where only.isEmpty || only.contains(name) {
        let start = ContinuousClock.now
        figures += try await run(stage)
        let seconds = Int((start.duration(to: .now) / .seconds(1)).rounded())
        stage.note("\(name) took \(seconds) seconds")
      }
      return figures
    }
    let report = Report(machine: try await Machine.describe(), runs: options.runs, figures: figures)
    switch options.format {
    case .text: print(report.text)
    case .markdown: print(report.markdown)
    case .json: print(try report.json())
    }
    return report.passed
  }
}
