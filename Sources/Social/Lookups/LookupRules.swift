import Foundation

/// What lookups may spend, and how long their answers are kept: the operator's choice.
public struct LookupRules: Sendable {
  /// The keys that pay, in turn; none, and nothing can be looked up.
  public var keys: [YouTubeKey]
  public var budgets = QuotaBudgets()
  /// How much of a day's budgets, of all keys together, one account may use, in percent.
  public var accountPercent = 10
  /// How long an answer is given without asking again.
  public var fresh: TimeInterval = 24 * 3600
  /// The age at which a kept channel is asked for again.
  public var refresh: TimeInterval = 25 * 86_400
  /// The age at which what is kept is deleted. YouTube's terms allow 30 days.
  public var keep: TimeInterval = 30 * 86_400

  /// Parked lookups come back spread over this time after their budget does.
  static let returnSpread: TimeInterval = 600

  public init(keys: [YouTubeKey]) { self.keys = keys }
}

/// What each key may spend a day.
///
/// Since June 2026 searches have a budget of their own, 100 calls a day; before that, and for some projects still, a
/// search costs 100 of the 10,000 units that everything else is paid from.
public struct QuotaBudgets: Sendable, Hashable {
  /// Search calls a day.
  public var searches = 100
  /// Units a day for everything else.
  public var units = 10_000
  /// What a search costs in units; 0 where searches have the budget of their own.
  public var searchUnits = 0

  public init(searches: Int = 100, units: Int = 10_000, searchUnits: Int = 0) {
    self.searches = searches
    self.units = units
    self.searchUnits = searchUnits
  }

  /// One of the budgets that a key has each day.
  public enum Kind: String, Sendable, CaseIterable, Comparable {
    case searches
    case units
    public static func < (one: Kind, other: Kind) -> Bool { one.rawValue < other.rawValue }
  }

  /// How much of a budget there is in a day.
  public func limit(of kind: Kind) -> Int {
    switch kind {
    case .searches: searches
    case .units: units
    }
  }

  /// What one call takes, and from where.
  func price(isSearch: Bool) -> (kind: Kind, cost: Int) {
    guard isSearch else { return (.units, 1) }
    return searchUnits > 0 ? (.units, searchUnits) : (.searches, 1)
  }
}
