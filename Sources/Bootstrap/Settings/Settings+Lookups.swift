import Foundation
import Social

extension Settings {
  /// The lookups' spending limits, and how long answers are kept.
  public var lookupRules: LookupRules {
    var rules = LookupRules(keys: youtubeKeys.map { YouTubeKey($0.value) })
    rules.budgets = QuotaBudgets(searches: youtubeSearches, units: youtubeUnits, searchUnits: youtubeSearchUnits)
    rules.accountPercent = youtubeAccountPercent
    rules.fresh = TimeInterval(youtubeFreshHours) * 3600
    rules.refresh = TimeInterval(youtubeRefreshDays) * 86_400
    rules.keep = TimeInterval(youtubeKeepDays) * 86_400
    return rules
  }
}
