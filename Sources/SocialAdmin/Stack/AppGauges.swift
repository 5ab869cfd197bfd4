import DurableJobsAdmin
import Foundation
import LibPQClient
import Social

/// The app's own figures in a sample of the stack: posts on their way into feeds, and what is left of the quota.
public struct AppGauges: Sendable {
  private let lookups: LookupRules

  /// - Parameter lookups: with the keys whose quota is shown.
  public init(lookups: LookupRules) { self.lookups = lookups }

  /// Each read by itself, so that one that cannot be read leaves the other.
  public var all: [StackWatch.Gauges] {
    [{ pool, _ in try await fanOuts(pool) }, { pool, now in try await quota(pool, at: now) }]
  }

  /// Posts under way, of more than a thousand a thousand, and for how many seconds the oldest of them has been.
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
