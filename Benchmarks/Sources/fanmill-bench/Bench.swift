import Foundation

/// The measurements, in the order of the table.
struct Bench {
  private struct Measurement {
    let name: String
    let needsDatabase: Bool
    let run: @Sendable (Stage) async throws -> [Figure]
  }

  private static let measurements = [
    Measurement(name: "drain", needsDatabase: false, run: Drain.measure),
    Measurement(name: "scaling", needsDatabase: false, run: Scaling.measure),
    Measurement(name: "linear", needsDatabase: false, run: Linear.measure),
    Measurement(name: "enqueue", needsDatabase: false, run: Enqueue.measure),
    Measurement(name: "latency", needsDatabase: true, run: Latency.measure),
    Measurement(name: "idle", needsDatabase: true, run: Idle.measure),
    Measurement(name: "durable", needsDatabase: true, run: Durable.measure),
    Measurement(name: "fan-out", needsDatabase: true, run: FanOut.measure),
    Measurement(name: "fairness", needsDatabase: true, run: Fairness.measure),
    Measurement(name: "notifications", needsDatabase: true, run: Notices.measure),
    Measurement(name: "hearts", needsDatabase: true, run: Hearts.measure),
    Measurement(name: "rankings", needsDatabase: true, run: Rankings.measure),
    Measurement(name: "lookups", needsDatabase: true, run: ChannelLookups.measure),
    Measurement(name: "pictures", needsDatabase: true, run: Pictures.measure),
    Measurement(name: "search", needsDatabase: true, run: Search.measure),
    Measurement(name: "reading", needsDatabase: true, run: Reading.measure),
    Measurement(name: "live", needsDatabase: true, run: Live.measure),
    Measurement(name: "admin", needsDatabase: true, run: Admin.measure),
    Measurement(name: "cliffs", needsDatabase: true, run: Cliffs.measure),
  ]

  static var names: [String] { measurements.map(\.name) }

  private let options: Options

  init(_ options: Options) { self.options = options }

  /// Measures, prints the report, and returns whether every bound holds.
  func run() async throws -> Bool {
    let only = options.only
    let chosen = Self.measurements.filter { only.isEmpty || only.contains($0.name) }
    let needsDatabase = chosen.contains(where: \.needsDatabase)
    let figures = try await Stage.with(runs: options.runs, withDatabase: needsDatabase) { stage in
      var figures: [Figure] = []
      for measurement in chosen {
        let start = ContinuousClock.now
        figures += try await measurement.run(stage)
        let seconds = Int((start.duration(to: .now) / .seconds(1)).rounded())
        stage.note("\(measurement.name) took \(seconds) seconds")
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
