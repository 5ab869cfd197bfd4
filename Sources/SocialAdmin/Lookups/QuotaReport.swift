import DurableJobs
import DurableJobsAdmin
import Foundation
import LibPQClient
import Social

/// A key's spending today, and whether it is in use.
public struct KeyStanding: Codable, Sendable, Hashable {
  /// One of the key's daily budgets.
  public struct Budget: Codable, Sendable, Hashable {
    /// `searches` or `units`.
    public let name: String
    public let limit: Int
    public let spent: Int
    /// Reserved by calls in progress, or by calls whose worker died.
    public let reserved: Int
    public let left: Int
    /// When the key is tried again, if the service reported it exhausted although little was used.
    public let asksAgainAt: Date?
  }

  /// Identifies the key without revealing it: the beginning of its SHA-256.
  public let key: String
  /// Whether this process has the key configured; others may.
  public let isSet: Bool
  public let budgets: [Budget]
  /// When the budgets reset: midnight Pacific time.
  public let resetsAt: Date
  public let disabledAt: Date?
  /// The reason why the service refused the key.
  public let reason: String?
  public let message: String?
}

/// The state of the keys.
public enum QuotaReport {
  /// The configured keys, then others that were used today or are disabled.
  public static func keys(_ rules: LookupRules, at date: Date = JobClock.now, in reader: some SocialReader) async throws
    -> [KeyStanding]
  {
    let day = PacificDay(containing: date)
    let used = try await reader.rows(
      """
      SELECT key, budget, reserved, spent, is_spent_out, ask_again_at FROM youtube_quota
      WHERE day = \(day.description)::date ORDER BY key
      """
    ).decode(String.self, String.self, Int.self, Int.self, Bool.self, Date?.self)
    let disabled = try await reader.rows(
      "SELECT label, disabled_at, reason, message FROM youtube_keys WHERE disabled_at IS NOT NULL ORDER BY label"
    ).decode(String.self, Date.self, String?.self, String?.self)
    let set = rules.keys.map(\.label)
    var labels: [String] = []
    for label in set + used.map(\.0) + disabled.map(\.0) where !labels.contains(label) { labels.append(label) }
    return labels.map { label in
      let refusal = disabled.first { $0.0 == label }
      let budgets = QuotaBudgets.Kind.allCases.filter { $0 == .units || rules.budgets.searchUnits == 0 }.map { kind in
        let limit = rules.budgets.limit(of: kind)
        let row = used.first { $0.0 == label && $0.1 == kind.rawValue }
        let (reserved, spent) = (row?.2 ?? 0, row?.3 ?? 0)
        return KeyStanding.Budget(
          name: kind.rawValue, limit: limit, spent: spent, reserved: reserved,
          left: row?.4 == true ? 0 : max(0, limit - reserved - spent),
          asksAgainAt: row?.4 == true ? row?.5 : nil)
      }
      return KeyStanding(
        key: label, isSet: set.contains(label), budgets: budgets, resetsAt: day.end, disabledAt: refusal?.1,
        reason: refusal?.2, message: refusal?.3)
    }
  }

  /// Enables a key that the service had refused, once the cause is fixed.
  ///
  /// - Throws: `.notFound` if no disabled key has this label.
  public static func enable(_ label: String, in pool: PostgresPool) async throws {
    let enabled = try await pool.execute(
      """
      UPDATE youtube_keys SET disabled_at = NULL, reason = NULL, message = NULL
      WHERE label = \(label) AND disabled_at IS NOT NULL
      """)
    if enabled == 0 { throw OperationError(.notFound, "no key '\(label)' is disabled: `fanmill quota` shows the keys") }
  }
}
