import DurableJobs
import DurableJobsPostgres
import Foundation

/// Workers' counts over the last hour, day or week, recorded by the minute. The last few seconds are not included yet.
public struct Statistics: Sendable {
  private let database: JobsDatabase
  private let now: @Sendable () -> Date

  /// How far back the statistics go.
  public enum Window: String, Codable, Sendable, CaseIterable {
    case hour
    case day
    case week

    /// In seconds.
    public var length: Double {
      switch self {
      case .hour: 3600
      case .day: 86_400
      case .week: 7 * 86_400
      }
    }

    /// A week is counted by the hour, shorter windows by the minute.
    fileprivate var table: CountTable { self == .week ? .hours : .minutes }

    /// The histograms of a day's minutes would take a second to add up.
    fileprivate var histograms: CountTable { self == .hour ? .minutes : .hours }

    /// The time between two points of a series, in seconds: a minute, a quarter of an hour, two hours.
    public var step: Double {
      switch self {
      case .hour: 60
      case .day: 900
      case .week: 7200
      }
    }
  }

  public init(_ database: JobsDatabase, now: @escaping @Sendable () -> Date = { JobClock.now }) {
    self.database = database
    self.now = now
  }

  /// A point for each step of the window, oldest first, including steps without jobs. The last step is incomplete.
  public func series(
    _ window: Window, queue: String? = nil, kind: String? = nil
  ) async throws -> [StatisticsPoint] {
    let (since, step) = (start(of: window), window.step)
    let sums = try await database.counts(window.table, since: since, step: step, queue: queue, kind: kind)
    let first = Int((since.timeIntervalSince1970 / step).rounded(.down))
    let last = Int((now().timeIntervalSince1970 / step).rounded(.down))
    return (first...max(first, last)).map { index in
      StatisticsPoint(
        at: Date(timeIntervalSince1970: Double(index) * step), StatisticsTotals(sums[index] ?? JobCounts()))
    }
  }

  /// The totals of the whole window. The percentiles of a day and a week are of whole hours.
  public func totals(
    _ window: Window, queue: String? = nil, kind: String? = nil
  ) async throws -> StatisticsTotals {
    let since = start(of: window)
    async let sums = database.counted(window.table, since: since, queue: queue, kind: kind)
    async let histograms = database.histograms(
      window.histograms, since: first(of: window.histograms, since), queue: queue, kind: kind)
    var counts = try await sums
    for part in try await histograms {
      counts.runTimes += part.run
      counts.waitTimes += part.wait
    }
    return StatisticsTotals(counts)
  }

  /// Each kind of each queue, by queue and kind.
  public func kinds(_ window: Window, queue: String? = nil) async throws -> [KindStatistics] {
    try await counts(window, queue: queue).map {
      KindStatistics(queue: $0.queue, kind: $0.kind, totals: StatisticsTotals($0.counts))
    }
  }

  /// The totals of each queue that ran something, by name.
  public func queues(_ window: Window) async throws -> [String: StatisticsTotals] {
    var sums: [String: JobCounts] = [:]
    for kind in try await counts(window) { sums[kind.queue, default: JobCounts()] += kind.counts }
    return sums.mapValues { StatisticsTotals($0) }
  }

  private func counts(
    _ window: Window, queue: String? = nil
  ) async throws -> [(queue: String, kind: String, counts: JobCounts)] {
    let since = start(of: window)
    async let sums = database.countsByKind(window.table, since: since, queue: queue)
    async let histograms = database.histograms(
      window.histograms, since: first(of: window.histograms, since), queue: queue)
    let times = Dictionary(uniqueKeysWithValues: try await histograms.map { ([$0.queue, $0.kind], $0) })
    return try await sums.map { queue, kind, counts in
      var counts = counts
      if let times = times[[queue, kind]] { (counts.runTimes, counts.waitTimes) = (times.run, times.wait) }
      return (queue, kind, counts)
    }
  }

  /// The beginning of the hour that a window begins in, for counts by the hour.
  private func first(of table: CountTable, _ since: Date) -> Date {
    guard case .hours = table else { return since }
    return Date(timeIntervalSince1970: (since.timeIntervalSince1970 / 3600).rounded(.down) * 3600)
  }

  /// The beginning of a step, so that every point of a series is whole.
  private func start(of window: Window) -> Date {
    let last = (now().timeIntervalSince1970 / window.step).rounded(.down) * window.step
    return Date(timeIntervalSince1970: last - window.length + window.step)
  }
}
