import DurableJobsPostgres
import Foundation

/// What was done in a stretch of time.
public struct StatisticsTotals: Codable, Sendable, Hashable {
  public let completed: Int
  /// Attempts that failed and were, or are, made again.
  public let failed: Int
  public let dead: Int
  /// How long an attempt ran on average, in seconds; a job of a batch its part of it. nil where there was none.
  public let meanRun: Double?
  /// How long a job was ready on average before it began, in seconds; nil where there was none.
  public let meanWait: Double?

  init(_ sums: CountSums) {
    completed = sums.completed
    failed = sums.failed
    dead = sums.dead
    let attempts = Double(completed + failed + dead)
    meanRun = attempts > 0 ? sums.run / attempts / 1000 : nil
    meanWait = attempts > 0 ? sums.wait / attempts / 1000 : nil
  }
}

/// One step of a series.
public struct StatisticsPoint: Codable, Sendable, Hashable {
  /// When the step began.
  public let at: Date
  public let completed: Int
  public let failed: Int
  public let dead: Int
  /// In seconds; nil where nothing ran.
  public let meanRun: Double?
  /// In seconds; nil where nothing ran.
  public let meanWait: Double?

  init(at: Date, _ totals: StatisticsTotals) {
    self.at = at
    completed = totals.completed
    failed = totals.failed
    dead = totals.dead
    meanRun = totals.meanRun
    meanWait = totals.meanWait
  }
}

/// What was done of one kind in one queue.
public struct KindStatistics: Codable, Sendable, Hashable {
  public let queue: String
  public let kind: String
  public let totals: StatisticsTotals
}
