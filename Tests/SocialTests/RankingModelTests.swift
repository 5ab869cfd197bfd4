import DurableJobs
import Foundation
import LibPQClient
import TestSupport
import Testing

@testable import Social

/// Fans register, unregister and give hearts over days and months, in different time zones, while counting lags behind
/// in any order. Each snapshot must match a simple model, both the incremental ones and the full recounts.
@Suite(.timeLimit(.minutes(3))) struct RankingModelTests {
  private static let zones = ["Asia/Seoul", "America/New_York", "UTC", "Pacific/Apia", "Australia/Lord_Howe"]

  private struct Fan {
    let id: Int
    var since: [String: Date] = [:]
    var count: [String: Int] = [:]
    var hearted: [String: Date] = [:]
  }

  @Test(arguments: [UInt64.random(in: 0...UInt64.max), UInt64.random(in: 0...UInt64.max), 1, 2])
  func rankingsAreWhatTheModelSays(seed: UInt64) async throws {
    print("rankingsAreWhatTheModelSays: seed \(seed)")
    try await App.run { app in
      var random = SeededGenerator(seed: seed)
      let zone = try #require(Self.zones.randomElement(using: &random))
      // Lists with more celebs than they keep, and lists that keep all.
      let depth = [2, 3, 100].randomElement(using: &random) ?? 2
      var model = RankingModel(timeZone: try #require(TimeZone(identifier: zone)), depth: depth)
      let channels = try (0..<30).map { try CelebAccount.channel($0) }
      // Whole seconds, a few days before the clocks and the month change.
      var now = Date(timeIntervalSince1970: 1_793_000_000 + Double(Int.random(in: 0..<400_000, using: &random)))
      var fans = try await app.accounts(40).map { Fan(id: $0) }
      // Little more is kept than shown, so that lists run short and are rebuilt from all celebs.
      try await app.pool.execute(
        """
        CREATE OR REPLACE FUNCTION kept_entries(depth integer) RETURNS integer LANGUAGE sql IMMUTABLE RETURN depth + 1
        """)
      try await app.refresh(RankingRefresh(depth: depth, timeZone: zone), now: now)
      for round in 0..<25 {
        for _ in 0..<Int.random(in: 0..<30, using: &random) {
          // Often at the same moment, so that the account decides.
          now += [0, 0, 1, 60, 600, 7200].randomElement(using: &random) ?? 0
          let index = Int.random(in: 0..<fans.count, using: &random)
          // A few celebs get most hearts.
          let channel = channels[min(Int.random(in: 0..<30, using: &random), Int.random(in: 0..<30, using: &random))]
          try await act(&fans[index], channel, app, now, &random)
        }
        try await count(share: [0, 0.5, 1].randomElement(using: &random) ?? 1, app, &model, &random)
        if Int.random(in: 0..<4, using: &random) == 0 { now += Double(Int.random(in: 0..<200_000, using: &random)) }
        let recount = Int.random(in: 0..<5, using: &random) == 0
        let audited = try await RankingAudit.run(on: app.database, now: now)
        try #require(audited.isExact, "seed \(seed), round \(round): \(audited)")
        let outcome = try await app.refresh(RankingRefresh(depth: depth, recount: recount), now: now)
        try #require(outcome.corrected == 0, "seed \(seed), round \(round): \(outcome)")
        for measure in RankingKey.Measure.allCases {
          for window in RankingKey.Window.allCases {
            let key = RankingKey(.youtube, by: measure, window)
            let expected = model.snapshot(of: key, now)
            let found = try await app.ranking(key, limit: Int.random(in: 1...40, using: &random))
            try #require(
              found == expected,
              "seed \(seed), round \(round), \(zone), depth \(depth), \(measure) \(window), recount \(recount)")
          }
        }
      }
      for fan in fans {
        let celebs = try await Celebs.list(of: fan.id, in: app.pool)
        #expect(Dictionary(uniqueKeysWithValues: celebs.map { ($0.account, $0.since) }) == fan.since)
        #expect(celebs.allSatisfy { $0.count == fan.count[$0.account, default: 0] })
      }
    }
  }

  /// A fan's action, with its reply checked against the model.
  private func act(
    _ fan: inout Fan, _ channel: CelebAccount, _ app: App, _ now: Date, _ random: inout SeededGenerator
  ) async throws {
    let name = channel.name
    if fan.since[name] == nil {
      let refused = try await code { try await app.register(channel, by: fan.id, now: now) }
      #expect(refused == (fan.since.count < 3 ? nil : .celebLimit))
      if refused == nil {
        fan.since[name] = now
        fan.count[name] = 0
      } else if let other = fan.since.keys.sorted().randomElement(using: &random) {
        #expect(try await app.remove(CelebAccount(.youtube, other), by: fan.id, now: now))
        fan.since[other] = nil
      }
    } else {
      let refused = try await code { try await app.heart(channel, by: fan.id, now: now) }
      let isSoon = fan.hearted[name].map { now < $0.addingTimeInterval(600) } ?? false
      #expect(refused == (isSoon ? .heartTooSoon : nil))
      if refused == nil {
        fan.hearted[name] = now
        fan.count[name, default: 0] += 1
      }
    }
  }

  /// Counts a share of the waiting events, in any order and in batches of any size, as workers might.
  private func count(
    share: Double, _ app: App, _ model: inout RankingModel, _ random: inout SeededGenerator
  ) async throws {
    let names = Dictionary(
      uniqueKeysWithValues: try await app.pool.query("SELECT id, account FROM celebs").decode(Int.self, String.self)
        .map { ($0.0, $0.1) })
    var waiting = try await app.pool.query("SELECT id, kind, payload FROM jobs ORDER BY id")
      .decode(PostgresUUID.self, String.self, String.self)
    waiting.shuffle(using: &random)
    waiting = Array(waiting.prefix(Int(share * Double(waiting.count))))
    while !waiting.isEmpty {
      let batch = Array(waiting.prefix(Int.random(in: 1...20, using: &random)))
      waiting.removeFirst(batch.count)
      var counts = CelebCounts()
      for (_, kind, payload) in batch {
        if kind == "hearts.count" {
          let job = try HeartCount(payload: Array(payload.utf8), version: 1)
          counts.addHeart(of: job.celeb, at: job.at)
          model.hearts.append(.init(account: names[job.celeb] ?? "", at: date(job.at)))
        } else {
          let job = try FanCount(payload: Array(payload.utf8), version: 1)
          counts.addFan(of: job.celeb, since: job.since, change: job.change, at: job.at)
          model.fans.append(
            .init(account: names[job.celeb] ?? "", since: date(job.since), change: job.change, at: date(job.at)))
        }
      }
      let sum = counts
      try await app.pool.transaction { transaction in
        try await transaction.execute("DELETE FROM jobs WHERE id = ANY(\(batch.map(\.0)))")
        try await sum.write(in: transaction)
      }
    }
  }

  private func date(_ microseconds: Int) -> Date { Date(timeIntervalSince1970: Double(microseconds) / 1_000_000) }
}
