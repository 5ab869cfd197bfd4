import Foundation

/// The operator's limits on what lookups spend and how long their answers are stored.
public struct LookupRules: Sendable {
  /// The API keys, used in turn. Without keys there are no lookups.
  public var keys: [YouTubeKey]
  public var budgets = QuotaBudgets()
  /// The share of a day's budgets, over all keys, that one account may use, in percent.
  public var accountPercent = 10
  /// How long an answer is served without querying again.
  public var fresh: TimeInterval = 24 * 3600
  /// The age at which a stored channel is refreshed.
  public var refresh: TimeInterval = 25 * 86_400
  /// The age at which stored data is deleted. YouTube's terms allow 30 days.
  public var keep: TimeInterval = 30 * 86_400

  /// Parked lookups resume spread over this time after their budget resets.
  static let returnSpread: TimeInterval = 600

  public init(keys: [YouTubeKey]) { self.keys = keys }
}

/// The daily budgets of each key.
///
/// Since June 2026 searches have a separate budget, 100 calls a day. Before that, and for some projects still, a search
/// costs 100 of the 10,000 units that pay for everything else.
public struct QuotaBudgets: Sendable, Hashable {
  /// Search calls per day.
  public var searches = 100
  /// Units per day for everything else.
  public var units = 10_000
  /// The cost of a search in units; 0 if searches have the separate budget.
  public var searchUnits = 0

  public init(searches: Int = 100, units: Int = 10_000, searchUnits: Int = 0) {
    self.searches = searches
    self.units = units
    self.searchUnits = searchUnits
  }

  /// One of a key's daily budgets.
  public enum Kind: String, Sendable, CaseIterable, Comparable {
    case searches
    case units
    public static func < (one: Kind, other: Kind) -> Bool { one.rawValue < other.rawValue }
  }

  /// The daily limit of a budget.
  public func limit(of kind: Kind) -> Int {
    switch kind {
    case .searches: searches
    case .units: units
    }
  }

  /// The cost of one call, and the budget it comes from.
  func price(isSearch: Bool) -> (kind: Kind, cost: Int) {
    guard isSearch else { return (.units, 1) }
    return searchUnits > 0 ? (.units, searchUnits) : (.searches, 1)
  }
}
