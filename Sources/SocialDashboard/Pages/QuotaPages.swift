import DurableJobsDashboard
import Foundation
import Hummingbird
import LibPQClient
import Social
import SocialAdmin

/// The remaining quota of the YouTube Data API keys.
struct QuotaPages: DashboardPages {
  let pool: PostgresPool
  let rules: LookupRules

  let menu = [DashboardMenuEntry("Quota", path: "quota")]
  let templates = ["quota": String(decoding: PackageResources.quota_mustache, as: UTF8.self)]

  func add(to routes: inout DashboardRoutes) {
    routes.page("quota", list)
  }

  func address(ofFinding name: String) -> String? { name.hasPrefix("YouTube") ? "quota" : nil }

  private struct Model {
    let hasKeys: Bool
    let keys: [Key]
  }

  private struct Key {
    let key: String
    let state: String
    let style: String
    let refusal: String?
    let budgets: [Budget]
    let resets: PageMoment
  }

  private struct Budget {
    let name: String
    let left: String
    let limit: String
    let spent: String
    let reserved: String
    let used: Int
    let total: Int
    let percent: Int

    init(_ budget: KeyStanding.Budget) {
      name = budget.name
      left = PageFormat.number(budget.left)
      limit = PageFormat.number(budget.limit)
      spent = PageFormat.number(budget.spent)
      reserved = PageFormat.number(budget.reserved)
      total = max(budget.limit, 1)
      used = min(total, total - min(total, budget.left))
      percent = used * 100 / total
    }
  }

  @Sendable private func list(_ visit: DashboardVisit) async throws -> Response {
    let keys = try await QuotaReport.keys(rules, at: visit.now, in: pool).map { key in
      let isSpent = key.budgets.contains { $0.left == 0 }
      let (state, style) =
        key.disabledAt != nil
        ? ("refused", "bad") : !key.isSet ? ("not set here", "still") : isSpent ? ("spent", "warn") : ("in use", "ok")
      return Key(
        key: key.key, state: state, style: style,
        refusal: key.disabledAt.map { date in
          let why = [key.reason, key.message].compactMap(\.self).joined(separator: ": ")
          return
            "Refused \(visit.moment(date).distance): \(why). `fanmill quota enable \(key.key)` enables it again."
        }, budgets: key.budgets.map(Budget.init), resets: visit.moment(key.resetsAt))
    }
    return try await visit.page("quota", title: "Quota", Model(hasKeys: !keys.isEmpty, keys: keys))
  }
}
