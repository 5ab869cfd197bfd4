import ArgumentParser
import DurableJobsAdmin
import Foundation

struct StatsCommand<P: QueueProgram>: AsyncParsableCommand, Sendable {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "stats", abstract: "Show what workers did: throughput, failures, how long jobs waited and ran.",
      discussion: """
        Workers count by the minute; the last few seconds are not included yet. Percentiles are off by a quarter at
        most.
        """)
  }
  @OptionGroup var common: CommandOptions<P>
  @Option(help: "The period to report on.") var window = Statistics.Window.hour
  @Option(help: "Only this queue.", completion: .queues(of: P.self)) var queue: String?
  @Option(help: "Only this kind.", completion: .kinds(of: P.self)) var kind: String?

  struct Report: Encodable {
    let window: Statistics.Window
    let totals: StatisticsTotals
    /// By queue and kind.
    let items: [KindStatistics]
    /// A point per minute, quarter of an hour or two hours, oldest first.
    let series: [StatisticsPoint]
  }

  func run() async throws {
    try await common.withDatabase { database in
      let statistics = Statistics(database)
      let report = Report(
        window: window, totals: try await statistics.totals(window, queue: queue, kind: kind),
        items: try await statistics.kinds(window, queue: queue).filter { kind == nil || $0.kind == kind },
        series: try await statistics.series(window, queue: queue, kind: kind))
      try common.output.one(report) { $0.text }
    }
  }
}

extension Statistics.Window: ExpressibleByArgument {}

extension StatsCommand.Report {
  private var step: String {
    switch window {
    case .hour: "minute"
    case .day: "quarter of an hour"
    case .week: "two hours"
    }
  }

  private static func times(_ mean: Double?, _ percentiles: Percentiles?) -> String {
    guard let mean else { return "nothing" }
    guard let percentiles else { return "\(mean.span) mean" }
    return "\(percentiles.p50.span) p50, \(percentiles.p95.span) p95, \(percentiles.p99.span) p99, \(mean.span) mean"
  }

  fileprivate var text: String {
    let head = facts([
      (
        "last \(window.rawValue)",
        "\(totals.completed.grouped) done, \((Double(totals.completed) / window.length).rate) a second"
      ),
      ("failed", "\(totals.failed.grouped) attempts, \(totals.dead.grouped) dead"),
      ("waited", Self.times(totals.meanWait, totals.wait)),
      ("ran", Self.times(totals.meanRun, totals.run)),
      ("done by \(step)", Sparkline.text(series.map { Double($0.completed) })),
      ("failed by \(step)", Sparkline.text(series.map { Double($0.failed + $0.dead) })),
    ])
    return items.isEmpty ? head : head + "\n\n" + Table(statistics: items).text(on: .output)
  }
}

extension Table {
  init(statistics: [KindStatistics]) {
    self.init(
      [
        .text("queue").extra, .id("kind"), .number("done"), .number("failed"), .number("dead"), .number("wait p50"),
        .number("wait p99"), .number("run p50"), .number("run p99"),
      ],
      rows: statistics.map { kind in
        let totals = kind.totals
        return [
          kind.queue, kind.kind, totals.completed.grouped, totals.failed.grouped, totals.dead.grouped,
          totals.wait?.p50.span ?? "", totals.wait?.p99.span ?? "", totals.run?.p50.span ?? "",
          totals.run?.p99.span ?? "",
        ]
      })
  }
}

/// Draws numbers as a line of bars.
enum Sparkline {
  private static let bars = Array("▁▂▃▄▅▆▇█")

  static func text(_ numbers: [Double], columns: Int = 56) -> String {
    if numbers.isEmpty { return "" }
    // Numbers share bars, so that all of them fit.
    let share = (numbers.count + columns - 1) / columns
    let sums = stride(from: 0, to: numbers.count, by: share).map { start in
      numbers[start..<min(start + share, numbers.count)].reduce(0, +)
    }
    guard let highest = sums.max(), highest > 0 else { return String(repeating: " ", count: sums.count) }
    return String(
      sums.map { $0 == 0 ? " " : bars[min(bars.count - 1, Int($0 / highest * Double(bars.count - 1) + 0.5))] })
  }
}
