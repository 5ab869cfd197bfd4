import DurableJobsAdmin
import Foundation
import LibPQClient
import Social

/// The app's figures in a stack sample: posts in fan-out, webhooks, and the remaining quota.
public struct AppGauges: Sendable {
  private let lookups: LookupRules

  /// - Parameter lookups: has the keys whose quota is shown.
  public init(lookups: LookupRules) { self.lookups = lookups }

  /// Gauges are read separately, so that a failure of one leaves the other.
  public var all: [StackWatch.Gauges] {
    [
      { pool, _ in try await fanOuts(pool) }, { pool, now in try await quota(pool, at: now) },
      { pool, _ in try await webhooks(pool) },
    ]
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

  /// The number of hooks that were stopped for failing, or by their receivers, and the age of the oldest event that
  /// waits for an active hook, in seconds.
  private func webhooks(_ pool: PostgresPool) async throws -> [StackSample.Gauge] {
    let row = try await pool.query(
      """
      SELECT count(*), count(*) FILTER (WHERE state <> 'active' AND reason NOT LIKE 'paused by %'),
        coalesce(extract(epoch FROM clock_timestamp() - min((
          SELECT e.created_at FROM webhook_events e
          WHERE e.id = (SELECT min(l.first_event) FROM webhook_lines l WHERE l.hook_id = h.id)
            AND h.state = 'active'))), 0)::float8
      FROM webhooks h
      """)[0]
    let (hooks, stopped, lag) = try row.decode(Int.self, Int.self, Double.self)
    if hooks == 0 { return [] }
    return [
      StackSample.Gauge("fanmill_webhooks_stopped", Double(stopped)),
      StackSample.Gauge("fanmill_webhook_lag_seconds", max(0, lag)),
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
