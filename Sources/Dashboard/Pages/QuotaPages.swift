import DurableJobsAdmin
import Foundation
import Hummingbird
import LibPQClient
import Social
import SocialAdmin

/// What the YouTube Data API's keys may still spend.
struct QuotaPages: Sendable {
  let kit: Kit
  let pool: PostgresPool
  let rules: LookupRules

  func add(to routes: inout Routes) {
    routes.page("quota", list)
  }

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
    let resets: Moment
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
      left = Format.number(budget.left)
      limit = Format.number(budget.limit)
      spent = Format.number(budget.spent)
      reserved = Format.number(budget.reserved)
      total = max(budget.limit, 1)
      used = min(total, total - min(total, budget.left))
      percent = used * 100 / total
    }
  }

  @Sendable private func list(_ visit: Visit) async throws -> Response {
    let keys = try await QuotaReport.keys(rules, at: kit.now(), in: pool).map { key in
      let isSpent = key.budgets.contains { $0.left == 0 }
      let (state, style) =
        key.disabledAt != nil
        ? ("refused", "bad") : !key.isSet ? ("not set here", "still") : isSpent ? ("spent", "warn") : ("in use", "ok")
      return Key(
        key: key.key, state: state, style: style,
        refusal: key.disabledAt.map { date in
          let why = [key.reason, key.message].compactMap(\.self).joined(separator: ": ")
          return
            "Refused \(kit.moment(date).distance): \(why). `fanmill quota enable \(key.key)` puts it into use again."
        }, budgets: key.budgets.map(Budget.init), resets: kit.moment(key.resetsAt))
    }
    return try await kit.page(
      visit, "quota", title: "Quota", at: "/admin/quota", Model(hasKeys: !keys.isEmpty, keys: keys))
  }
}
