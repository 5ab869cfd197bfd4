import Foundation
import LibPQClient
import Locking
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
      // Again, it changes nothing.
      #expect(try await app.register(channel, by: fans[0]) == first)
      #expect(try await app.register(channel, by: fans[1]).title == channel.name)
      // What YouTube says goes before the account.
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
      // Room that a removal makes is for one, whoever races for it.
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
}
