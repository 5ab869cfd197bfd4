import DurableJobs
import Foundation
import LibPQClient
import Locking
import TestSupport
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(2))) struct HeartTests {
  private let noon = Date(timeIntervalSince1970: 1_790_000_000)

  @Test func of64RacingHeartsOneIsTaken() async throws {
    try await App.run(connections: 24) { app in
      let fan = try await app.account("fan")
      let channel = try CelebAccount.channel(1)
      try await app.register(channel, by: fan)
      for round in 1...3 {
        let taken = Locked(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<64 {
            group.addTask {
              do {
                let given = try await app.heart(channel, by: fan)
                #expect(given.count == round)
                taken.withLock { $0 += 1 }
              } catch let error as SocialError {
                #expect(error.code == .heartTooSoon)
                #expect((1...600).contains(error.retryAfter ?? 0))
              }
            }
          }
          try await group.waitForAll()
        }
        #expect(taken.withLock { $0 } == 1)
        #expect(try await app.count("SELECT count(*) FROM hearts") == round)
        // Ten minutes pass.
        try await app.pool.execute("UPDATE celeb_fans SET hearted_at = hearted_at - interval '10 minutes'")
      }
      try await app.drain()
      #expect(try await app.counts(channel) == [3, 1])
    }
  }

  @Test func eachHeartOfABatchIsTakenOrRefusedForItself() async throws {
    try await App.run { app in
      let fans = try await app.accounts(3)
      let (one, two) = (try CelebAccount.channel(1), try CelebAccount.channel(2))
      try await app.register(one, by: fans[0], now: noon)
      try await app.register(one, by: fans[1], now: noon)
      try await app.register(two, by: fans[1], now: noon)
      try await app.heart(one, by: fans[1], now: noon)
      let hearts = [
        Heart(to: one, by: fans[0]), Heart(to: one, by: fans[2]), Heart(to: one, by: fans[1]),
        Heart(to: two, by: fans[1]), Heart(to: one, by: fans[0]),
      ]
      let outcomes = try await app.client.transaction { try await Hearts.give(hearts, in: $0, now: noon) }
      let seen = outcomes.map { outcome -> String in
        switch outcome {
        case .success(let given): "\(given.count)"
        case .failure(let error): error.code.rawValue
        }
      }
      // The two hearts of one fan for one celeb race: either may be accepted.
      #expect([seen[0], seen[4]].sorted() == ["1", "heart_too_soon"])
      #expect(Array(seen[1...3]) == ["celeb_not_registered", "heart_too_soon", "1"])
      try await app.drain()
      #expect(try await app.counts(one) == [2, 2])
      #expect(try await app.counts(two) == [1, 1])
    }
  }

  /// Batches with the same fans in opposite orders lock them in the same order.
  @Test func batchesNeverWaitForEachOther() async throws {
    try await App.run(connections: 8) { app in
      let fans = try await app.accounts(40)
      let channel = try CelebAccount.channel(1)
      for fan in fans { try await app.register(channel, by: fan, now: noon) }
      let hearts = fans.map { Heart(to: channel, by: $0) }
      for round in 0..<10 {
        let now = noon.addingTimeInterval(Double(round) * 600)
        let taken = try await withThrowingTaskGroup(of: Int.self) { group in
          for index in 0..<8 {
            group.addTask {
              let batch = index % 2 == 0 ? hearts : hearts.reversed()
              let outcomes = try await app.client.transaction { try await Hearts.give(batch, in: $0, now: now) }
              return outcomes.count { if case .success = $0 { true } else { false } }
            }
          }
          return try await group.reduce(0, +)
        }
        #expect(taken == fans.count)
      }
    }
  }

  @Test func tenMinutesLieBetweenTwoHearts() async throws {
    try await App.run { app in
      let fan = try await app.account("fan")
      let (one, two) = (try CelebAccount.channel(1), try CelebAccount.channel(2))
      #expect(try await code { try await app.heart(one, by: fan, now: noon) } == .celebNotRegistered)
      try await app.register(one, by: fan, now: noon)
      try await app.register(two, by: fan, now: noon)
      let first = try await app.heart(one, by: fan, now: noon)
      #expect(first.count == 1 && first.nextAt == noon.addingTimeInterval(600))
      // Each celeb has its own pause.
      #expect(try await app.heart(two, by: fan, now: noon).count == 1)
      do {
        try await app.heart(one, by: fan, now: noon.addingTimeInterval(599.5))
        Issue.record("half a second is missing")
      } catch let error as SocialError {
        #expect(error.code == .heartTooSoon && error.retryAfter == 1)
      }
      #expect(try await app.heart(one, by: fan, now: noon.addingTimeInterval(600)).count == 2)
      #expect(try await Celebs.celeb(one, of: fan, in: app.pool).recent == noon.addingTimeInterval(600))
    }
  }

  @Test func registeringAgainStartsOverButNotTheTenMinutes() async throws {
    try await App.run { app in
      let fan = try await app.account("fan")
      let channel = try CelebAccount.channel(1)
      let later = noon.addingTimeInterval(60)
      try await app.register(channel, by: fan, now: noon)
      try await app.heart(channel, by: fan, now: noon)
      try await app.remove(channel, by: fan, now: later)
      #expect(try await code { try await app.heart(channel, by: fan, now: later) } == .celebNotRegistered)
      let again = try await app.register(channel, by: fan, now: later)
      #expect(again.since == later && again.count == 0 && again.recent == noon)
      #expect(try await code { try await app.heart(channel, by: fan, now: later) } == .heartTooSoon)
      #expect(try await app.heart(channel, by: fan, now: noon.addingTimeInterval(600)).count == 1)
      try await app.drain()
      // The first heart counts once, permanently.
      #expect(try await app.counts(channel) == [2, 1])
      try await app.expectExactRankings(now: noon.addingTimeInterval(600))
    }
  }

  /// Many fans of two celebs give hearts, register and unregister, while workers count and rankings are made: nothing
  /// is lost or counted twice, and the result matches the accepted hearts.
  @Test(arguments: [UInt64.random(in: 0...UInt64.max), 7])
  func everyHeartCountsOnce(seed: UInt64) async throws {
    print("everyHeartCountsOnce: seed \(seed)")
    try await App.run(connections: 24) { app in
      let fans = try await app.accounts(24)
      let channels = try (0..<4).map { try CelebAccount.channel($0) }
      let model = Locked((hearts: [String: Int](), fans: [String: Int]()))
      try await app.working {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for (index, fan) in fans.enumerated() {
            group.addTask {
              var random = SeededGenerator(seed: seed &+ UInt64(index) &* 0x9E37_79B9_7F4A_7C15)
              var registered: Set<String> = []
              for step in 0..<20 {
                guard let channel = channels.randomElement(using: &random) else { return }
                if registered.contains(channel.name) {
                  if Int.random(in: 0..<4, using: &random) == 0 {
                    #expect(try await app.remove(channel, by: fan))
                    registered.remove(channel.name)
                    model.withLock { $0.fans[channel.name, default: 0] -= 1 }
                  } else {
                    // Each step is an hour, in the fan's past.
                    let now = Date(timeIntervalSinceNow: Double(step - 20) * 3600)
                    try await app.heart(channel, by: fan, now: now)
                    model.withLock { $0.hearts[channel.name, default: 0] += 1 }
                  }
                } else if registered.count < 3 {
                  try await app.register(channel, by: fan, now: Date(timeIntervalSinceNow: Double(step - 21) * 3600))
                  registered.insert(channel.name)
                  model.withLock { $0.fans[channel.name, default: 0] += 1 }
                }
              }
            }
          }
          group.addTask {
            for turn in 0..<12 { try await app.refresh(RankingRefresh(recount: turn % 4 == 3)) }
          }
          try await group.waitForAll()
        }
        try await app.waitForJobs()
      }
      try await app.refresh()
      let expected = model.withLock { $0 }
      for channel in channels {
        #expect(
          try await app.counts(channel) == [
            expected.hearts[channel.name, default: 0], expected.fans[channel.name, default: 0],
          ],
          "seed \(seed)")
      }
      let listed = try await app.ranking(RankingKey(.youtube))
      #expect(listed.map(\.hearts) == listed.map { expected.hearts[$0.account, default: 0] })
      try await app.expectExactRankings()
    }
  }
}
