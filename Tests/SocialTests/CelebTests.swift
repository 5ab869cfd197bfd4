import Foundation
import LibPQClient
import Locking
import TestSupport
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(2))) struct CelebTests {
  @Test func accountsHaveTheirPlatformsForm() throws {
    for name in ["UC_x5XG1OV2P6uZZ5FSM9Ttw", "UCxxxxxxxxxxxxxxxxxxxxx-"] {
      #expect(try CelebAccount(platform: "youtube", account: name).name == name)
    }
    for name in [
      "", "UC", "UCxxxxxxxxxxxxxxxxxxxxx", "UCxxxxxxxxxxxxxxxxxxxxxxx", "ucxxxxxxxxxxxxxxxxxxxxxx",
      "UCxxxxxxxxxxxxxxxxxxxxx!",
      "UCxxxxxxxxxxxxxxxxxxxxxé", "@handle",
    ] {
      #expect(throws: SocialError.self, "\(name)") { try CelebAccount(platform: "youtube", account: name) }
    }
    #expect(try CelebAccount(platform: "instagram", account: "An.Artist_1").name == "an.artist_1")
    for name in ["", ".a", "a.", "a..b", "a-b", "ä", String(repeating: "a", count: 31), "a b"] {
      #expect(throws: SocialError.self, "\(name)") { try CelebAccount(platform: "instagram", account: name) }
    }
    do {
      _ = try CelebAccount(platform: "vine", account: "a")
      Issue.record("vine is no platform")
    } catch {
      #expect(error.code == .unknownPlatform)
    }
  }

  @Test func aCelebIsRegisteredOnceAndRemoved() async throws {
    try await App.run { app in
      let fans = try await app.accounts(2)
      let channel = try CelebAccount.channel(1)
      let first = try await app.register(channel, by: fans[0])
      #expect(first.title == channel.name && first.url == channel.url && first.count == 0 && first.recent == nil)
      // Registering again changes nothing.
      #expect(try await app.register(channel, by: fans[0]) == first)
      #expect(try await app.register(channel, by: fans[1]).title == channel.name)
      // YouTube's title takes precedence over the account's.
      try await app.pool.execute(
        "INSERT INTO channels (id, title, has_details, fetched_at) VALUES (\(channel.name), 'The channel', false, now())"
      )
      #expect(try await Celebs.list(of: fans[1], in: app.pool).map(\.title) == ["The channel"])
      try await app.drain()
      #expect(try await app.counts(channel) == [0, 2])
      #expect(try await app.remove(channel, by: fans[0]))
      #expect(try await !app.remove(channel, by: fans[0]))
      #expect(try await Celebs.list(of: fans[0], in: app.pool).isEmpty)
      #expect(try await Celebs.list(of: fans[1], in: app.pool).map(\.account) == [channel.name])
      try await app.drain()
      #expect(try await app.counts(channel) == [0, 1])
      try await app.expectExactRankings()
    }
  }

  @Test func racingRegistrationsNeverMakeAFourth() async throws {
    try await App.run(connections: 24) { app in
      let fans = try await app.accounts(3)
      try await app.pool.execute("UPDATE accounts SET celeb_limit = 5 WHERE id = \(fans[1])")
      try await app.pool.execute("UPDATE accounts SET celeb_limit = 0 WHERE id = \(fans[2])")
      let refused = Locked(0)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<16 {
          for fan in fans {
            group.addTask {
              do {
                try await app.register(.channel(number), by: fan)
              } catch let error as SocialError {
                #expect(error.code == .celebLimit)
                refused.withLock { $0 += 1 }
              }
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await Celebs.list(of: fans[0], in: app.pool).count == 3)
      #expect(try await Celebs.list(of: fans[1], in: app.pool).count == 5)
      #expect(try await Celebs.list(of: fans[2], in: app.pool).isEmpty)
      #expect(refused.withLock { $0 } == 48 - 8)
      // A removal makes room for one, however many race for it.
      let celebs = try await Celebs.list(of: fans[0], in: app.pool)
      try await app.remove(CelebAccount(.youtube, celebs[0].account), by: fans[0])
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 20..<28 {
          group.addTask { _ = try await code { try await app.register(.channel(number), by: fans[0]) } }
        }
        try await group.waitForAll()
      }
      #expect(try await Celebs.list(of: fans[0], in: app.pool).count == 3)
      try await app.drain()
      try await app.expectExactRankings()
    }
  }

  @Test func aReplacedCelebGivesItsPlaceAndNothingElse() async throws {
    try await App.run { app in
      let fan = try await app.account("fan")
      let (one, two, three) = (try CelebAccount.channel(1), try CelebAccount.channel(2), try CelebAccount.channel(3))
      for channel in [one, two] {
        try await app.register(channel, by: fan)
        try await app.heart(channel, by: fan)
      }
      try await app.edit(two, Celebs.Edit(note: "mine", position: 1), of: fan)
      let new = try await app.replace(two, by: three, of: fan)
      #expect((new.account, new.count, new.position) == (three.name, 0, 1))
      #expect(new.note == nil && new.recent == nil)
      #expect(try await Celebs.list(of: fan, in: app.pool).map(\.account) == [three.name, one.name])
      try await app.drain()
      #expect(try await app.counts(two) == [1, 0])
      #expect(try await app.counts(three) == [0, 1])
      // A former registration returns without hearts, but with the pause after its last one.
      let back = try await app.replace(three, by: two, of: fan)
      #expect(back.count == 0 && back.recent != nil && back.since > new.since)
      #expect(try await code { try await app.heart(two, by: fan) } == .heartTooSoon)
      #expect(try await code { try await app.replace(three, by: one, of: fan) } == .celebNotRegistered)
      #expect(try await code { try await app.replace(one, by: two, of: fan) } == .celebRegistered)
      #expect(try await code { try await app.replace(one, by: one, of: fan) } == .celebRegistered)
      #expect(try await Celebs.list(of: fan, in: app.pool).map(\.account) == [two.name, one.name])
      // A fan above the current limit can still replace one for one.
      try await app.pool.execute("UPDATE accounts SET celeb_limit = 1 WHERE id = \(fan)")
      try await app.replace(one, by: three, of: fan)
      #expect(try await code { try await app.register(one, by: fan) } == .celebLimit)
      try await app.drain()
      try await app.expectExactRankings()
    }
  }

  @Test func racingReplacementsNeverMakeAFourthAndNeverTakeOneAway() async throws {
    try await App.run(connections: 24) { app in
      let fan = try await app.account("fan")
      for number in 0..<3 { try await app.register(.channel(number), by: fan) }
      let seed = UInt64.random(in: 0 ... .max)
      print("seed \(seed)")
      let counts = Locked<Set<Int>>([])
      try await withThrowingTaskGroup(of: Void.self) { group in
        for racer in 0..<24 {
          group.addTask {
            var random = SeededGenerator(seed: seed &+ UInt64(racer))
            for _ in 0..<10 {
              let accounts = try (0..<2).map { _ in try CelebAccount.channel(.random(in: 0..<8, using: &random)) }
              let refusal = try await code {
                switch Int.random(in: 0..<4, using: &random) {
                case 0: try await app.register(accounts[0], by: fan)
                case 1: try await app.heart(accounts[0], by: fan)
                default: try await app.replace(accounts[0], by: accounts[1], of: fan)
                }
              }
              let known: [SocialError.Code?] = [
                nil, .celebLimit, .celebNotRegistered, .celebRegistered, .heartTooSoon,
              ]
              #expect(known.contains(refusal), "seed \(seed)")
              let count = try await Celebs.list(of: fan, in: app.pool).count
              counts.withLock { _ = $0.insert(count) }
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(counts.withLock { $0 } == [3], "seed \(seed)")
      try await app.drain()
      try await app.expectExactRankings()
    }
  }

  @Test func aFanOrdersItsCelebsAndNotesWhatItLikes() async throws {
    try await App.run { app in
      let fans = try await app.accounts(2)
      let channels = try (0..<4).map { try CelebAccount.channel($0) }
      for fan in fans { for channel in channels { try await app.register(channel, by: fan, limit: 4) } }
      func order(of fan: Int) async throws -> [Int] {
        try await Celebs.list(of: fan, in: app.pool).map { own in
          try #require(channels.firstIndex { $0.name == own.account })
        }
      }
      #expect(try await app.edit(channels[3], Celebs.Edit(position: 2), of: fans[0]).position == 2)
      #expect(try await order(of: fans[0]) == [0, 3, 1, 2])
      #expect(try await app.edit(channels[0], Celebs.Edit(position: 4), of: fans[0]).position == 4)
      #expect(try await order(of: fans[0]) == [3, 1, 2, 0])
      #expect(try await app.edit(channels[1], Celebs.Edit(position: .max), of: fans[0]).position == 4)
      #expect(try await order(of: fans[0]) == [3, 2, 0, 1])
      #expect(try await app.edit(channels[3], Celebs.Edit(note: "the first"), of: fans[0]).note == "the first")
      #expect(try await app.edit(channels[3], Celebs.Edit(position: 1), of: fans[0]).note == "the first")
      #expect(try await order(of: fans[1]) == [0, 1, 2, 3])
      #expect(try await Celebs.list(of: fans[1], in: app.pool).allSatisfy { $0.note == nil })
      #expect(try await app.edit(channels[3], Celebs.Edit(note: ""), of: fans[0]).note == nil)
      // Removed and registered again, it has lost its note and its place.
      try await app.edit(channels[3], Celebs.Edit(note: "again"), of: fans[0])
      try await app.remove(channels[3], by: fans[0])
      #expect(
        try await code { try await app.edit(channels[3], Celebs.Edit(position: 1), of: fans[0]) } == .celebNotRegistered
      )
      #expect(try await app.register(channels[3], by: fans[0], limit: 4).note == nil)
      #expect(try await order(of: fans[0]) == [2, 0, 1, 3])
    }
    #expect(throws: SocialError.self) { try Celebs.Edit(position: 0) }
    #expect(throws: SocialError.self) { try Celebs.Edit(note: String(repeating: "a", count: 501)) }
  }

  @Test func aPlatformHasANumberToo() throws {
    #expect(try CelebPlatform(named: "0") == .youtube && CelebPlatform(named: "1") == .instagram)
    for name in ["2", "-1", "00", "", "YouTube"] {
      #expect(throws: SocialError.self, "\(name)") { try CelebPlatform(named: name) }
    }
  }
}
