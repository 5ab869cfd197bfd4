import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient
import TestSupport
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(2))) struct RankingTests {
  /// 2026-10-11, a Sunday, at 23:00 in Seoul.
  private let sunday = Date(timeIntervalSince1970: 1_791_727_200)

  @Test func ranksMoveFromSnapshotToSnapshot() async throws {
    try await App.run { app in
      let fans = try await app.accounts(3)
      let (one, two) = (try CelebAccount.channel(1), try CelebAccount.channel(2))
      #expect(try await Rankings.page(of: RankingKey(.youtube), PageRequest(), in: app.pool) == RankingPage(items: []))
      for fan in fans { for channel in [one, two] { try await app.register(channel, by: fan, now: sunday) } }
      try await app.heart(two, by: fans[0], now: sunday)
      try await app.heart(one, by: fans[0], now: sunday)
      try await app.drain()
      try await app.refresh(now: sunday)
      // The same number of hearts at the same moment: the account decides.
      let first = try await app.ranking(RankingKey(.youtube))
      #expect(first.map(\.account) == [one.name, two.name] && first.allSatisfy { $0.previousRank == nil })
      #expect(first.map(\.followers) == [3, 3])
      try await app.heart(two, by: fans[1], now: sunday + 1)
      try await app.drain()
      try await app.refresh(now: sunday + 2)
      let second = try await app.ranking(RankingKey(.youtube))
      #expect(second.map(\.account) == [two.name, one.name])
      #expect(second.map(\.previousRank) == [2, 1] && second.map(\.change) == [1, -1])
      #expect(second.map(\.hearts) == [2, 1])
      // The same number, but later.
      try await app.heart(one, by: fans[1], now: sunday + 3)
      try await app.drain()
      try await app.refresh(now: sunday + 4)
      #expect(try await app.ranking(RankingKey(.youtube)).map(\.account) == [two.name, one.name])
      // A snapshot with nothing new: each keeps its rank.
      try await app.refresh(now: sunday + 5)
      #expect(try await app.ranking(RankingKey(.youtube)).map(\.change) == [0, 0])
      #expect(try await app.ranking(RankingKey(.instagram)).isEmpty)
    }
  }

  @Test func daysEndAtMidnightAndWeeksOnSundayInTheTimeZone() async throws {
    try await App.run { app in
      let fan = try await app.account("fan")
      let channel = try CelebAccount.channel(1)
      /// In the day, the week, the month and all time; 0 where it is not listed.
      func hearts() async throws -> [Int] {
        var hearts: [Int] = []
        for window in RankingKey.Window.allCases {
          hearts.append(try await app.ranking(RankingKey(.youtube, window)).first?.hearts ?? 0)
        }
        return hearts
      }
      try await app.register(channel, by: fan, now: sunday)
      try await app.heart(channel, by: fan, now: sunday + 3599)
      try await app.drain()
      try await app.refresh(now: sunday + 3599.5)
      #expect(try await hearts() == [1, 1, 1, 1])
      // Monday, with a heart of Monday counted before a late one of Sunday.
      try await app.refresh(now: sunday + 3600)
      #expect(try await hearts() == [0, 0, 1, 1])
      try await app.expectExactRankings(now: sunday + 3600)
      try await app.heart(channel, by: fan, now: sunday + 5000)
      try await app.drain()
      try await app.refresh(now: sunday + 5000)
      #expect(try await hearts() == [1, 1, 2, 2])
      // In New York all of it is one Sunday.
      let moved = try await app.refresh(RankingRefresh(timeZone: "America/New_York"), now: sunday + 5000)
      #expect(moved.isRecount)
      #expect(try await hearts() == [2, 2, 2, 2])
      try await app.expectExactRankings(now: sunday + 5000)
    }
  }

  @Test func pagesOfOneSnapshotStayTogether() async throws {
    try await App.run { app in
      let fans = try await app.accounts(4)
      let channels = try (0..<3).map { try CelebAccount.channel($0) }
      for (index, channel) in channels.enumerated() {
        for fan in fans[index...] { try await app.register(channel, by: fan, now: sunday) }
      }
      try await app.drain()
      try await app.refresh(now: sunday)
      let key = RankingKey(.youtube, by: .followers, .all)
      let first = try await Rankings.page(of: key, PageRequest(limit: 1), in: app.pool)
      #expect(first.items.map(\.account) == [channels[0].name])
      for fan in fans[..<2] { try await app.remove(channels[0], by: fan, now: sunday + 1) }
      try await app.remove(channels[0], by: fans[2], now: sunday + 1)
      try await app.drain()
      try await app.refresh(now: sunday + 2)
      // The new snapshot begins with another celeb; pages of the old one continue unchanged.
      #expect(try await app.ranking(key).first?.account == channels[1].name)
      let rest = try await Rankings.page(of: key, PageRequest(before: first.next), in: app.pool)
      #expect(rest.items.map(\.account) == [channels[1].name, channels[2].name] && rest.computedAt == first.computedAt)
      // Kept for a day, except for the last two, which are always kept.
      try await app.refresh(RankingRefresh(historyDays: 1), now: sunday + 90_000)
      #expect(try await app.count("SELECT count(*) FROM ranking_snapshots") == 2)
      #expect(try await app.ranking(key).map(\.change) == [0, 0, 0])
      let gone = try await code { _ = try await Rankings.page(of: key, PageRequest(before: first.next), in: app.pool) }
      #expect(gone == .invalid("before"))
      try await app.expectExactRankings(now: sunday + 90_000)
    }
  }

  @Test func anAuditFindsWhatIsBroken() async throws {
    let breakages = [
      "UPDATE celebs SET hearts = hearts + 1 WHERE account LIKE '%1'": "hearts all",
      "UPDATE celebs SET hearts_day = hearts_day - 1 WHERE account LIKE '%1'": "hearts day",
      "UPDATE celebs SET followers_week = 0 WHERE account LIKE '%2'": "followers week",
      "UPDATE celebs SET hearts_at = hearts_at - interval '1 second' WHERE account LIKE '%1'": "hearts reached",
      "DELETE FROM hearts WHERE account_id = (SELECT min(account_id) FROM hearts)": "hearts all",
      "INSERT INTO hearts SELECT * FROM hearts LIMIT 1": "hearts month",
      "UPDATE ranking_lists SET hearts[1] = 99 WHERE span = 'week' AND measure = 'hearts'": "hearts week",
      "UPDATE ranking_lists SET celeb_ids = ARRAY[celeb_ids[2], celeb_ids[1]] WHERE measure = 'followers' AND span = 'all'":
        "followers all",
      "DELETE FROM celeb_fans WHERE account_id = (SELECT min(account_id) FROM celeb_fans)": "fans registered",
      "UPDATE celeb_fans SET hearts = hearts + 1": "hearts of the fan account1",
    ]
    try await App.run { app in
      let fans = try await app.accounts(3)
      for number in 1...2 {
        for fan in fans[number...] + fans[..<1] {
          try await app.register(.channel(number), by: fan, now: sunday)
          try await app.heart(.channel(number), by: fan, now: sunday)
        }
      }
      try await app.drain()
      try await app.refresh(now: sunday)
      try await app.expectExactRankings(now: sunday)
      for (breakage, what) in breakages {
        try await rollingBack(app) { transaction in
          let touched = try await transaction.execute(PostgresQuery(unescaped: breakage))
          try #require(touched > 0, "\(breakage)")
          let audit = try await RankingAudit.run(examples: 20, .standard, transaction, now: sunday)
          #expect(!audit.isExact && audit.differences.contains { $0.what == what }, "\(breakage): \(audit)")
          if !breakage.contains("celeb_fans"), !breakage.contains("hearts SELECT"), !breakage.contains("FROM hearts") {
            // A full recount repairs it.
            try await RankingRefresh(recount: true).run(in: transaction, now: sunday)
            let repaired = try await RankingAudit.run(examples: 20, .standard, transaction, now: sunday)
            #expect(repaired.isExact, "\(breakage): \(repaired)")
          }
        }
      }
    }
  }

  @Test func countingAnewWaitsForWhatIsBeingCounted() async throws {
    try await App.run { app in
      let fan = try await app.account("fan")
      let channel = try CelebAccount.channel(1)
      try await app.register(channel, by: fan, now: sunday)
      try await app.drain()
      try await app.heart(channel, by: fan, now: sunday)
      try await app.pool.execute("UPDATE celebs SET hearts = 99")
      try await withThrowingTaskGroup(of: Void.self) { group in
        try await app.pool.transaction { transaction in
          let payload = try await transaction.query("DELETE FROM jobs RETURNING payload")[0].decode(String.self)
          let job = try HeartCount(payload: Array(payload.utf8), version: 1)
          var counts = CelebCounts()
          counts.addHeart(of: job.celeb, at: job.at)
          try await counts.write(in: transaction)
          group.addTask {
            let outcome = try await app.refresh(RankingRefresh(recount: true), now: sunday + 1)
            #expect(outcome.corrected == 1)
          }
          try await eventually {
            try await app.count("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") > 0
          }
        }
        try await group.waitForAll()
      }
      #expect(try await app.counts(channel) == [1, 1])
      try await app.expectExactRankings(now: sunday + 1)
    }
  }

  /// Runs `body` in a transaction that is rolled back.
  private func rollingBack(_ app: App, _ body: (PostgresTransaction) async throws -> Void) async throws {
    struct Done: Error {}
    do {
      try await app.pool.transaction { transaction in
        try await body(transaction)
        throw Done()
      }
    } catch is Done {}
  }

  @Test func eachDayHasAPointAndTodaysMoves() async throws {
    try await App.run { app in
      let fans = try await app.accounts(2)
      let (one, two) = (try CelebAccount.channel(1), try CelebAccount.channel(2))
      let day: TimeInterval = 86_400
      func points(_ account: CelebAccount, _ window: RankingKey.Window = .all) async throws -> [RankPoint] {
        try await Rankings.history(of: account, in: RankingKey(.youtube, window), in: app.pool)
      }
      #expect(try await code { _ = try await points(one) } == .notFound)
      for fan in fans { for channel in [one, two] { try await app.register(channel, by: fan, now: sunday) } }
      try await app.heart(one, by: fans[0], now: sunday)
      try await app.drain()
      try await app.refresh(now: sunday)
      #expect(try await points(one) == [RankPoint(day: "2026-10-11", rank: 1, count: 1)])
      #expect(try await points(two).isEmpty)
      // Only the day's last snapshot is kept.
      for fan in fans { try await app.heart(two, by: fan, now: sunday + 1) }
      try await app.drain()
      try await app.refresh(now: sunday + 2)
      try await app.refresh(now: sunday + 3600)
      try await app.refresh(now: sunday + 3601)
      #expect(
        try await points(two) == [
          RankPoint(day: "2026-10-12", rank: 1, count: 2), RankPoint(day: "2026-10-11", rank: 1, count: 2),
        ])
      #expect(try await points(one).map(\.rank) == [2, 2])
      // On a new day nothing is counted yet.
      #expect(try await points(two, .day) == [RankPoint(day: "2026-10-11", rank: 1, count: 2)])
      // Days without a snapshot have no point, and old points are deleted.
      try await app.refresh(RankingRefresh(historyDays: 1, pointDays: 3), now: sunday + 4 * day)
      #expect(try await points(two).map(\.day) == ["2026-10-15", "2026-10-12"])
      try await app.refresh(RankingRefresh(recount: true), now: sunday + 5 * day)
      #expect(try await points(two).map(\.day) == ["2026-10-16", "2026-10-15", "2026-10-12"])
    }
  }

  @Test func theFirstTimeAmongTheFirstTenIsToldOnce() async throws {
    try await App.run { app in
      let fans = try await app.accounts(12)
      let channels = try (0..<12).map { try CelebAccount.channel($0) }
      func told() async throws -> [String] {
        try await app.pool.query(
          """
          SELECT c.account || ' ' || e.measure || ' ' || e.span || ' ' || e.rank
          FROM live_events e JOIN celebs c ON c.id = e.celeb_id WHERE e.rank IS NOT NULL ORDER BY e.id
          """
        ).decode(String.self)
      }
      // The first has one fan, the second two …
      for (number, channel) in channels.enumerated() {
        for fan in fans.prefix(number + 1) { try await app.register(channel, by: fan, limit: 20, now: sunday) }
      }
      try await app.drain()
      try await app.refresh(now: sunday)
      let first = try await told()
      #expect(first.count == 40 && first.contains("\(channels[11].name) followers all 1"))
      #expect(first.contains("\(channels[2].name) followers day 10") && !first.joined().contains(channels[1].name))
      try await app.refresh(now: sunday + 1)
      #expect(try await told().count == 40)
      // One enters, one leaves and returns.
      for fan in fans.suffix(11) { try await app.register(channels[0], by: fan, limit: 20, now: sunday + 2) }
      try await app.drain()
      try await app.refresh(now: sunday + 3)
      let second = try await told().dropFirst(40)
      #expect(second.count == 4 && second.allSatisfy { $0.hasPrefix(channels[0].name) && $0.hasSuffix(" 2") })
      for fan in fans.suffix(11) { try await app.remove(channels[0], by: fan, now: sunday + 4) }
      try await app.drain()
      try await app.refresh(now: sunday + 5)
      #expect(try await told().count == 44)
      let rows = try await EventFeed.live(after: 0, posts: [], lookedUpBy: fans[11], in: app.pool).rows
      #expect(
        rows.count == 4
          && rows.allSatisfy { row in
            if case .topTen(let account, _, _, _, let rank) = row.item {
              account == channels[11] && rank == 1
            } else {
              false
            }
          })
    }
  }
}
