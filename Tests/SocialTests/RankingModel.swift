import Foundation

@testable import Social

/// Rankings computed directly from their definition: from every counted event, with Foundation's calendar.
struct RankingModel {
  struct Heart: Hashable {
    let account: String
    let at: Date
  }

  struct FanChange: Hashable {
    let account: String
    let since: Date
    let change: Int
    let at: Date
  }

  /// The hearts of one platform.
  var hearts: [Heart] = []
  var fans: [FanChange] = []
  let timeZone: TimeZone
  let depth: Int
  /// The ranks in the last snapshot.
  private(set) var ranks: [RankingKey: [String: Int]] = [:]

  init(timeZone: TimeZone, depth: Int) {
    self.timeZone = timeZone
    self.depth = depth
  }

  private struct Row {
    var hearts = 0
    var heartsAt = Date.distantPast
    var followers = 0
    var followersAt = Date.distantPast
  }

  /// The start of the window that contains `now`.
  func start(of window: RankingKey.Window, _ now: Date) -> Date {
    var calendar = Calendar(identifier: .iso8601)
    calendar.timeZone = timeZone
    let component: Calendar.Component
    switch window {
    case .day: component = .day
    case .week: component = .weekOfYear
    case .month: component = .month
    case .all: return .distantPast
    }
    return calendar.dateInterval(of: component, for: now)?.start ?? now
  }

  /// Makes a snapshot of one ranking.
  mutating func snapshot(of key: RankingKey, _ now: Date) -> [RankedCeleb] {
    let start = start(of: key.window, now)
    var rows: [String: Row] = [:]
    for heart in hearts where heart.at >= start {
      rows[heart.account, default: Row()].hearts += 1
      rows[heart.account, default: Row()].heartsAt = max(rows[heart.account]?.heartsAt ?? .distantPast, heart.at)
    }
    for fan in fans where fan.since >= start {
      rows[fan.account, default: Row()].followers += fan.change
      rows[fan.account, default: Row()].followersAt = max(rows[fan.account]?.followersAt ?? .distantPast, fan.at)
    }
    func score(_ row: Row) -> (Int, Date) {
      key.measure == .hearts ? (row.hearts, row.heartsAt) : (row.followers, row.followersAt)
    }
    let sorted = rows.filter { score($0.value).0 > 0 }.sorted { one, other in
      let (first, second) = (score(one.value), score(other.value))
      if first.0 != second.0 { return first.0 > second.0 }
      if first.1 != second.1 { return first.1 < second.1 }
      return one.key < other.key
    }
    let items = sorted.prefix(depth).enumerated().map { index, entry in
      RankedCeleb(
        rank: index + 1, previousRank: ranks[key]?[entry.key], account: entry.key, title: entry.key, thumbnail: nil,
        hearts: entry.value.hearts, followers: entry.value.followers)
    }
    ranks[key] = Dictionary(uniqueKeysWithValues: items.map { ($0.account, $0.rank) })
    return items
  }
}
