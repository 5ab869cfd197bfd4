import DurableJobsAdmin
import Foundation
import LibPQClient
import Social

/// The doctor's check of the YouTube API keys.
public struct YouTubeExamination: Examination {
  private let rules: LookupRules

  /// - Parameter rules: the lookup limits and the keys.
  public init(rules: LookupRules) { self.rules = rules }

  public func run(in transaction: PostgresTransaction) async throws -> [Finding] {
    let keys = try await QuotaReport.keys(rules, in: transaction)
    return [use(keys), budgets(keys)].compactMap(\.self)
  }

  private func use(_ keys: [KeyStanding]) -> Finding {
    let disabled = keys.filter { $0.disabledAt != nil }
    if !disabled.isEmpty {
      let list = disabled.map { "\($0.key) (\($0.reason ?? "no reason given"))" }.joined(separator: ", ")
      return .warn(
        "YouTube keys", "refused and disabled: \(list)",
        "fix the stated reason at Google, then run `fanmill quota enable KEY`; or set another key")
    }
    if rules.keys.isEmpty {
      return .warn(
        "YouTube keys", "none is set: only stored channels are found",
        "set FANMILL_YOUTUBE_KEYS for the API and the workers")
    }
    return .ok("YouTube keys", "\(rules.keys.count) in use")
  }

  private func budgets(_ keys: [KeyStanding]) -> Finding? {
    let working = keys.filter { $0.isSet && $0.disabledAt == nil }
    guard let first = working.first else { return nil }
    let left = first.budgets.map { budget in
      (budget.name, working.reduce(0) { $0 + ($1.budgets.first { $0.name == budget.name }?.left ?? 0) })
    }
    let detail = left.map { "\($0.1) \($0.0)" }.joined(separator: ", ") + " left"
    if left.allSatisfy({ $0.1 > 0 }) { return .ok("YouTube budget", detail) }
    let until = working.flatMap(\.budgets).compactMap(\.asksAgainAt).min() ?? first.resetsAt
    return .warn(
      "YouTube budget", detail + "; lookups wait until \(until.formatted(.iso8601))",
      "nothing is lost; add a key, or get a larger budget from Google")
  }
}
