import DurableJobs
import Foundation
import LibPQClient

/// What workers did over the last hour, day or week, as they counted it minute by minute. The last few seconds are not
/// in it yet.
public struct Statistics: Sendable {
  private let pool: PostgresPool
  private let now: @Sendable () -> Date

  /// How far to look back.
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

    /// A week is counted by the hour, less by the minute.
    fileprivate var table: String { self == .week ? "job_hours" : "job_minutes" }
    fileprivate var time: String { self == .week ? "hour" : "minute" }

    /// Between two points of a series, in seconds: a minute, a quarter of an hour, two hours.
    public var step: Double {
      switch self {
      case .hour: 60
      case .day: 900
      case .week: 7200
      }
    }
  }

  public init(pool: PostgresPool, now: @escaping @Sendable () -> Date = { JobClock.now }) {
    self.pool = pool
    self.now = now
  }

  /// A point for each step of the window, oldest first, also where nothing was done; the last one's step is under way.
  public func series(
    _ window: Window, queue: String? = nil, kind: String? = nil
  ) async throws -> [StatisticsPoint] {
    let (since, step) = (start(of: window), window.step)
    let rows = try await pool.query(
      """
      SELECT floor(extract(epoch FROM \(unescaped: window.time)) / \(step))::bigint, \(unescaped: Self.sums)
      FROM \(unescaped: window.table) WHERE \(unescaped: window.time) >= \(since) \(only: queue, kind) GROUP BY 1
      """
    ).decode(Int.self, Int.self, Int.self, Int.self, Double.self, Double.self)
    let sums = Dictionary(uniqueKeysWithValues: rows.map { ($0.0, StatisticsTotals($0.1, $0.2, $0.3, $0.4, $0.5)) })
    let first = Int((since.timeIntervalSince1970 / step).rounded(.down))
    let last = Int((now().timeIntervalSince1970 / step).rounded(.down))
    return (first...max(first, last)).map { index in
      StatisticsPoint(
        at: Date(timeIntervalSince1970: Double(index) * step), sums[index] ?? StatisticsTotals(0, 0, 0, 0, 0))
    }
  }

  /// The whole window in one.
  public func totals(
    _ window: Window, queue: String? = nil, kind: String? = nil
  ) async throws -> StatisticsTotals {
    let row = try await pool.query(
      """
      SELECT \(unescaped: Self.sums) FROM \(unescaped: window.table)
      WHERE \(unescaped: window.time) >= \(start(of: window)) \(only: queue, kind)
      """)[0]
    let sums = try row.decode(Int.self, Int.self, Int.self, Double.self, Double.self)
    return StatisticsTotals(sums.0, sums.1, sums.2, sums.3, sums.4)
  }

  /// Each kind of each queue, by queue and kind.
  public func kinds(_ window: Window, queue: String? = nil) async throws -> [KindStatistics] {
    try await pool.query(
      """
      SELECT queue, kind, \(unescaped: Self.sums) FROM \(unescaped: window.table)
      WHERE \(unescaped: window.time) >= \(start(of: window)) \(only: queue, nil) GROUP BY 1, 2 ORDER BY 1, 2
      """
    ).decode(String.self, String.self, Int.self, Int.self, Int.self, Double.self, Double.self).map { row in
      KindStatistics(queue: row.0, kind: row.1, totals: StatisticsTotals(row.2, row.3, row.4, row.5, row.6))
    }
  }

  private static let sums = """
    coalesce(sum(completed), 0)::bigint, coalesce(sum(failed), 0)::bigint, coalesce(sum(dead), 0)::bigint,
    coalesce(sum(run_ms), 0), coalesce(sum(wait_ms), 0)
    """

  /// The beginning of a step, so that every point of a series is whole.
  private func start(of window: Window) -> Date {
    let last = (now().timeIntervalSince1970 / window.step).rounded(.down) * window.step
    return Date(timeIntervalSince1970: last - window.length + window.step)
  }
}

extension PostgresQuery.StringInterpolation {
  /// The rows of one queue, of one kind, of both.
  fileprivate mutating func appendInterpolation(only queue: String?, _ kind: String?) {
    if let queue {
      appendLiteral("AND queue = ")
      appendInterpolation(queue)
    }
    if let kind {
      appendLiteral(" AND kind = ")
      appendInterpolation(kind)
    }
  }
}
