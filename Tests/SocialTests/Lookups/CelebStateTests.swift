import DurableJobs
import DurableJobsTesting
import Foundation
import LibPQClient
import TestSupport
import Testing

@testable import Social

extension LookupStage {
  /// The operation of `PUT me/celebs/…`.
  @discardableResult
  func register(_ account: CelebAccount, by fan: Int) async throws -> FanCeleb {
    try await app.client.transaction { transaction in
      let celeb = try await Celebs.register(account, by: fan, in: transaction)
      try await lookups.begin(for: celeb, by: fan, in: transaction)
      return celeb
    }
  }

  /// Runs every pending job, with lookups sent to YouTube.
  func drain() async throws { try await app.drain(youtube: youtube()) }

  func state(of account: CelebAccount) async throws -> CelebState? {
    try await app.pool.query("SELECT state FROM celebs WHERE account = \(account.name)").decode(String.self).first
      .flatMap(CelebState.init)
  }

  /// Celebs whose fans are notified, in order.
  func told() async throws -> [Int] {
    try await app.pool.query("SELECT celeb_id FROM live_events WHERE celeb_id IS NOT NULL AND rank IS NULL ORDER BY id")
      .decode(Int.self)
  }
}

@Suite(.timeLimit(.minutes(5))) struct CelebStateTests {
  private let day: TimeInterval = 86_400

  private func channel(_ name: String) throws -> CelebAccount { try CelebAccount(.youtube, channelID(name)) }

  @Test func aRegisteredChannelIsLookedUpOnce() async throws {
    try await LookupStage.run { stage in
      let fans = try await stage.app.accounts(2)
      let (channel, artist) = (try channel("one"), try CelebAccount(.instagram, "artist"))
      #expect(try await stage.register(artist, by: fans[0]).state == .unchecked)
      for fan in fans { #expect(try await stage.register(channel, by: fan).state == .pending) }
      try await stage.drain()
      #expect(stage.service.requests.count == 1)
      #expect(try await stage.used(.units) == [1, 0])
      let own = try await Celebs.list(of: fans[0], in: stage.app.pool)
      #expect(own.map(\.state) == [.unchecked, .verified])
      #expect(own.map(\.title) == ["artist", "a title"])
      #expect(own[1].thumbnail == "https://example.org/\(channel.name).jpg")
      #expect(try await stage.told().count == 1)
      // A stored channel is verified from the start, and costs nothing.
      try await stage.app.remove(channel, by: fans[0])
      #expect(try await stage.register(channel, by: fans[0]).state == .verified)
      #expect(try await stage.app.count("SELECT count(*) FROM jobs WHERE kind = 'lookups.channels'") == 0)
    }
  }

  @Test func aChannelThatYouTubeDoesNotKnowTakesNoPlaceAndHasNoRank() async throws {
    try await LookupStage.run { stage in
      let fan = try await stage.app.account("fan")
      let gone = try channel("gone")
      stage.service.answer { request in
        let ids = (request.query["id"] ?? "").split(separator: ",").map(String.init).filter { $0 != gone.name }
        return YouTubeResponse(#"{"items":["# + ids.map { YouTubeResponse.item($0) }.joined(separator: ",") + "]}")
      }
      for account in [gone, try channel("one"), try channel("two")] {
        // Without a lookup, as when no key is set.
        try await stage.app.register(account, by: fan)
        try await stage.app.heart(account, by: fan)
      }
      // While its state is unknown, it takes up a place.
      #expect(try await code { try await stage.register(channel("three"), by: fan) } == .celebLimit)
      try await stage.drain()
      try await stage.app.refresh()
      #expect(try await stage.app.ranking(RankingKey(.youtube)).count == 3)
      try await stage.app.client.enqueue(LookupUpkeep())
      try await stage.drain()
      #expect(try await stage.state(of: gone) == .unknown)
      #expect(try await stage.told().count == 3)
      try await stage.app.refresh()
      #expect(try await !stage.app.ranking(RankingKey(.youtube)).map(\.account).contains(gone.name))
      try await stage.app.expectExactRankings()
      try await stage.app.refresh(RankingRefresh(recount: true))
      #expect(try await stage.app.ranking(RankingKey(.youtube)).count == 2)
      // It stays on the list, and makes room for another.
      try await stage.register(channel("three"), by: fan)
      #expect(try await Celebs.list(of: fan, in: stage.app.pool).map(\.state).filter { $0 == .unknown }.count == 1)
      #expect(try await code { try await stage.register(channel("four"), by: fan) } == .celebLimit)
      // A new registration causes a new lookup; once YouTube knows it, it is back.
      stage.service.answer { try .of($0) }
      try await stage.register(gone, by: try await stage.app.account("other"))
      try await stage.drain()
      #expect(try await stage.state(of: gone) == .verified)
      try await stage.app.refresh()
      #expect(try await stage.app.ranking(RankingKey(.youtube)).map(\.account).contains(gone.name))
      try await stage.app.expectExactRankings()
    }
  }

  @Test func unknownCelebsAreNoMoreThanPlaces() async throws {
    try await LookupStage.run { stage in
      let fan = try await stage.app.account("fan")
      stage.service.answer { _ in YouTubeResponse(#"{"items":[]}"#) }
      for number in 0..<6 {
        try await stage.register(channel("gone\(number)"), by: fan)
        try await stage.drain()
      }
      #expect(try await code { try await stage.register(channel("gone6"), by: fan) } == .celebLimit)
      // An unknown one makes no room once those that take up a place fill the list.
      for number in 3..<6 { try await stage.app.remove(channel("gone\(number)"), by: fan) }
      for number in 0..<3 { try await stage.app.register(CelebAccount(.instagram, "artist\(number)"), by: fan) }
      let replaced = try await code {
        try await stage.app.replace(channel("gone0"), by: CelebAccount(.instagram, "artist9"), of: fan)
      }
      #expect(replaced == .celebLimit)
      #expect(try await Celebs.list(of: fan, in: stage.app.pool).count == 6)
    }
  }

  @Test func whatCouldNotBeAskedForAtOnceTheUpkeepAsksFor() async throws {
    try await LookupStage.run { stage in
      let fans = try await stage.app.accounts(60)
      // Without a lookup, as when no key was set.
      for (number, fan) in fans.enumerated() { try await stage.app.register(channel("fan\(number)"), by: fan) }
      try await stage.app.register(CelebAccount(.instagram, "artist"), by: fans[0])
      try await stage.app.pool.execute("INSERT INTO celebs (platform, account) VALUES ('youtube', 'nobody''s')")
      try await stage.app.client.enqueue(LookupUpkeep())
      try await stage.drain()
      #expect(stage.service.requests.count == 2)
      #expect(try await stage.app.count("SELECT count(*) FROM celebs WHERE state = 'verified'") == 60)
      // Stale channels are looked up again.
      try await stage.app.pool.execute("UPDATE channels SET fetched_at = \(stage.time.now - 31 * day)")
      try await stage.app.client.enqueue(LookupUpkeep())
      try await stage.drain()
      #expect(stage.service.requests.count == 4)
      #expect(try await stage.app.count("SELECT count(*) FROM celebs WHERE state = 'verified'") == 60)
      // A channel that YouTube no longer knows becomes unknown.
      stage.service.answer { _ in YouTubeResponse(#"{"items":[]}"#) }
      stage.time.advance(26 * day)
      try await stage.app.client.enqueue(LookupUpkeep())
      try await stage.drain()
      #expect(try await stage.app.count("SELECT count(*) FROM celebs WHERE state = 'unknown'") == 60)
      #expect(try await stage.app.count("SELECT count(*) FROM channels") == 0)
    }
  }

  @Test func anAccountThatUsedItsShareRegistersWithoutALookup() async throws {
    try await App.run { app in
      var stage = LookupStage(app)
      stage.rules.budgets.units = 10
      let fan = try await app.account("fan")
      #expect(try await stage.register(channel("one"), by: fan).state == .pending)
      #expect(try await stage.register(channel("two"), by: fan).state == .pending)
      #expect(
        try await app.pool.query("SELECT question FROM lookups").decode(String.self) == ["id:" + channelID("one")])
      #expect(try await app.count("SELECT count(*) FROM jobs WHERE kind = 'lookups.channels'") == 1)
    }
  }

  @Test func anAnswerThatIsOlderThanTheKeptChannelMakesNothingUnknown() async throws {
    try await LookupStage.run { stage in
      let fan = try await stage.app.account("fan")
      let channel = try channel("one")
      try await stage.register(channel, by: fan)
      try await stage.drain()
      try await ChannelStore.forget([channel.name], at: stage.time.now - 1, in: stage.app.pool)
      #expect(try await stage.state(of: channel) == .verified)
      try await ChannelStore.forget([channel.name], at: stage.time.now + 1, in: stage.app.pool)
      #expect(try await stage.state(of: channel) == .unknown)
    }
  }

  @Test func knowingAndForgettingNeverWaitForEachOther() async throws {
    try await App.run(connections: 24) { app in
      let stage = LookupStage(app)
      let fan = try await app.account("fan")
      let channels = try (0..<40).map { try channel("channel\($0)") }
      for channel in channels { try await app.register(channel, by: fan, limit: 1000) }
      let seed = UInt64.random(in: 0 ... .max)
      print("seed \(seed)")
      try await withThrowingTaskGroup(of: Void.self) { group in
        for round in 0..<24 {
          group.addTask {
            var random = SeededGenerator(seed: seed &+ UInt64(round))
            for step in 0..<10 {
              let some = channels.shuffled(using: &random).prefix(20)
              let date = stage.time.now + Double(round * 10 + step)
              if Bool.random(using: &random) {
                try await ChannelStore.forget(Set(some.map(\.name)), at: date, in: app.pool)
              } else {
                let kept = some.map { (channel: Channel(id: $0.name, title: "a title"), hasDetails: true) }
                _ = try await app.pool.transaction {
                  try await $0.pipeline(ChannelStore.keep(channels: kept, at: date))
                }
              }
            }
          }
        }
        try await group.waitForAll()
      }
      // Each matches the channels.
      #expect(
        try await app.count(
          """
          SELECT count(*) FROM celebs c
          WHERE (state = 'verified') <> EXISTS (SELECT FROM channels k WHERE k.id = c.account)
          """) == 0, "seed \(seed)")
    }
  }
}
