import DurableJobsAdmin
import Foundation
import LibPQClient
import Social

/// The app's figures in a stack sample: posts in fan-out, and the remaining quota.
public struct AppGauges: Sendable {
  private let lookups: LookupRules

  /// - Parameter lookups: has the keys whose quota is shown.
  public init(lookups: LookupRules) { self.lookups = lookups }

  /// Gauges are read separately, so that a failure of one leaves the other.
  public var all: [StackWatch.Gauges] {
    [{ pool, _ in try await fanOuts(pool) }, { pool, now in try await quota(pool, at: now) }]
  }

  /// The number of posts in fan-out, at most 1,000, and the age of the oldest in seconds.
  private func fanOuts(_ pool: PostgresPool) async throws -> [StackSample.Gauge] {
    let row = try await pool.query(
      """
      SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(started_at)), 0)::float8
      FROM (SELECT started_at FROM fan_outs WHERE finished_at IS NULL ORDER BY post_id LIMIT 1000) AS unfinished
      """)[0]
    let (unfinished, lag) = try row.decode(Int.self, Double.self)
    return [
      StackSample.Gauge("fanmill_fan_outs_unfinished", Double(unfinished)),
      StackSample.Gauge("fanmill_fan_out_lag_seconds", max(0, lag)),
    ]
  }

  private func quota(_ pool: PostgresPool, at now: Date) async throws -> [StackSample.Gauge] {
    guard !lookups.keys.isEmpty else { return [] }
    return try await QuotaReport.keys(lookups, at: now, in: pool).filter(\.isSet).flatMap { key in
      key.budgets.flatMap { budget in
        let labels = ["key": key.key, "budget": budget.name]
        let left = key.disabledAt == nil ? budget.left : 0
        return [
          StackSample.Gauge("fanmill_quota_left", Double(left), labels: labels),
          StackSample.Gauge("fanmill_quota_limit", Double(budget.limit), labels: labels),
        ]
      }
    }
  }
}
