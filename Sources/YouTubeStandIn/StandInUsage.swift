import Foundation

/// Usage counts and remaining budgets.
struct StandInUsage: Sendable {
  struct Calls: Sendable, Equatable, Encodable {
    var search = 0
    var channels = 0
    /// Responses with 304; also counted among the others.
    var notModified = 0
  }

  private struct Spent {
    var day = 0
    var searches = 0
    var units = 0
  }

  private(set) var all = Calls()
  private(set) var byKey: [String: Calls] = [:]
  private var spent: [String: Spent] = [:]

  enum Route: String, Sendable, Decodable { case search, channels }

  mutating func count(_ route: Route, key: String) {
    let field: WritableKeyPath<Calls, Int> = route == .search ? \.search : \.channels
    all[keyPath: field] += 1
    byKey[key, default: Calls()][keyPath: field] += 1
  }

  mutating func countNotModified(key: String) {
    all.notModified += 1
    byKey[key, default: Calls()].notModified += 1
  }

  /// Deducts a call's cost from its key's daily budget, which resets at midnight Pacific time. A call refused for
  /// another reason costs as well.
  ///
  /// - Returns: the error for a spent budget.
  mutating func spend(_ route: Route, key: String, at date: Date, _ budgets: StandInConfiguration) -> StandInError? {
    let day = Self.pacificDay(of: date)
    if spent[key]?.day != day { spent[key] = Spent(day: day) }
    if route == .search {
      guard spent[key, default: Spent()].searches < budgets.searchBudget else {
        return .limit("Search Queries", per: "day", value: budgets.searchBudget)
      }
      spent[key]?.searches += 1
    } else {
      guard spent[key, default: Spent()].units < budgets.unitBudget else { return StandInError(.quotaExceeded) }
      spent[key]?.units += 1
    }
    return nil
  }

  private static let pacific = TimeZone(identifier: "America/Los_Angeles")

  /// The number of the current day in California, including daylight saving time.
  static func pacificDay(of date: Date) -> Int {
    let offset = pacific?.secondsFromGMT(for: date) ?? -8 * 3600
    return Int(((date.timeIntervalSince1970 + Double(offset)) / 86_400).rounded(.down))
  }
}
