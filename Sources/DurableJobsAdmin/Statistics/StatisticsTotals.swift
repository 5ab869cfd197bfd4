import DurableJobs
import Foundation

/// The totals for a period of time.
public struct StatisticsTotals: Codable, Sendable, Hashable {
  public let completed: Int
  /// Attempts that failed and were, or will be, retried.
  public let failed: Int
  public let dead: Int
  /// The mean run time of an attempt, in seconds; for a batch, each job's share of it. nil if there was none.
  public let meanRun: Double?
  /// The mean time a job was ready before it started, in seconds; nil if there was none.
  public let meanWait: Double?
  /// Of the run times; nil in a series, and if there was no attempt.
  public let run: Percentiles?
  /// Of the times that jobs were ready before they started; nil in a series, and if there was none.
  public let wait: Percentiles?

  init(_ counts: JobCounts) {
    completed = counts.completed
    failed = counts.failed
    dead = counts.dead
    let attempts = Double(completed + failed + dead)
    meanRun = attempts > 0 ? counts.run / .seconds(1) / attempts : nil
    meanWait = attempts > 0 ? counts.wait / .seconds(1) / attempts : nil
    run = Percentiles(counts.runTimes)
    wait = Percentiles(counts.waitTimes)
  }
}

/// Durations in seconds that half, 95% and 99% of all do not exceed, off by a quarter at most.
public struct Percentiles: Codable, Sendable, Hashable {
  public let p50: Double
  public let p95: Double
  public let p99: Double

  /// - Returns: nil for an empty histogram.
  init?(_ histogram: DurationHistogram) {
    guard let p50 = histogram.percentile(0.5), let p95 = histogram.percentile(0.95),
      let p99 = histogram.percentile(0.99)
    else { return nil }
    (self.p50, self.p95, self.p99) = (p50 / .seconds(1), p95 / .seconds(1), p99 / .seconds(1))
  }
}

/// One step of a series. It has the members of its ``totals``, and its JSON has their keys.
@dynamicMemberLookup
public struct StatisticsPoint: Codable, Sendable, Hashable {
  /// When the step began.
  public let at: Date
  public let totals: StatisticsTotals

  init(at: Date, _ totals: StatisticsTotals) {
    self.at = at
    self.totals = totals
  }

  public subscript<Value>(dynamicMember member: KeyPath<StatisticsTotals, Value>) -> Value {
    totals[keyPath: member]
  }

  private enum CodingKeys: String, CodingKey {
    case at
  }

  public init(from decoder: any Decoder) throws {
    at = try decoder.container(keyedBy: CodingKeys.self).decode(Date.self, forKey: .at)
    totals = try StatisticsTotals(from: decoder)
  }

  public func encode(to encoder: any Encoder) throws {
    try totals.encode(to: encoder)
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(at, forKey: .at)
  }
}

/// The totals for one kind in one queue.
public struct KindStatistics: Codable, Sendable, Hashable {
  public let queue: String
  public let kind: String
  public let totals: StatisticsTotals
}
