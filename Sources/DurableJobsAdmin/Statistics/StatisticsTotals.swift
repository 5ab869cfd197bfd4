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

  init(_ counts: JobCounts) {
    completed = counts.completed
    failed = counts.failed
    dead = counts.dead
    let attempts = Double(completed + failed + dead)
    meanRun = attempts > 0 ? Double(counts.run) / attempts / 1e9 : nil
    meanWait = attempts > 0 ? Double(counts.wait) / attempts / 1e9 : nil
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
