import DurableJobs
import Foundation
import LibPQClient
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(5))) struct LookupBudgetTests {
  /// The results of one account's queries.
  private struct Tally: Equatable {
    var lookups = 0
    var refused = 0
    var channels = 0

    mutating func add(_ answer: Lookups.Answer) {
      switch answer {
      case .lookup: lookups += 1
      case .accountExhausted: refused += 1
      case .channels: channels += 1
      case .exhausted, .noKey, .known: Issue.record("\(answer)")
      }
    }
  }

  @Test func fiveHundredSearchesOfOneLeaveTheDayToOthers() async throws {
    try await LookupStage.run(keys: ["a", "b", "c"]) { stage in
      let accounts = try await stage.app.accounts(2)
      // A disabled key has no share to give.
      try await stage.app.pool.execute(
        "INSERT INTO youtube_keys (label, disabled_at) VALUES (\(YouTubeKey("c").label), now())")
      let tally = try await withThrowingTaskGroup(of: Lookups.Answer.self) { group in
        for number in 0..<500 { group.addTask { try await stage.ask("words \(number)", by: accounts[0]) } }
        return try await group.reduce(into: Tally()) { $0.add($1) }
      }
      #expect(tally == Tally(lookups: 20, refused: 480))
      #expect(try await stage.app.count("SELECT count(*) FROM lookups") == 20)
      #expect(try await stage.app.count("SELECT count(*) FROM jobs") == 20)
      try await stage.work()
      #expect(try await stage.used(.searches) == [20, 0])
      var other = Tally()
      for number in 0..<20 { other.add(try await stage.ask("others \(number)", by: accounts[1])) }
      #expect(other == Tally(lookups: 20))
      // An operator has no share.
      _ = try await stage.begin("an operator's")
    }
  }

  @Test func keptAnswersAndSharedLookupsCostNothing() async throws {
    try await LookupStage.run { stage in
      var stage = stage
      stage.rules.accountPercent = 2
      let accounts = try await stage.app.accounts(2)
      var tally = Tally()
      for _ in 0..<5 { tally.add(try await stage.ask("one", by: accounts[0])) }
      #expect(tally == Tally(lookups: 5))
      try await stage.work()
      for _ in 0..<5 { tally.add(try await stage.ask("one", by: accounts[0])) }
      #expect(tally == Tally(lookups: 5, channels: 5))
      tally.add(try await stage.ask("two", by: accounts[0]))
      tally.add(try await stage.ask("three", by: accounts[0]))
      #expect(tally == Tally(lookups: 6, refused: 1, channels: 5))
      _ = try await stage.ask("three", by: accounts[1])
      tally.add(try await stage.ask("three", by: accounts[0]))
      #expect(tally.lookups == 7)
      // Stored results are returned even if they are stale.
      stage.time.advance(stage.rules.fresh + 1)
      let day = PacificDay(containing: stage.time.now).description
      try await stage.app.pool.execute("UPDATE youtube_account_quota SET day = \(day)::date")
      tally.add(try await stage.ask("one", by: accounts[0]))
      #expect(tally.channels == 6)
      // The next day has a new share.
      stage.time.advance(2 * 86_400)
      tally.add(try await stage.ask("one", by: accounts[0]))
      #expect(tally == Tally(lookups: 8, refused: 1, channels: 6))
      // Old bookings are deleted with other old rows.
      #expect(try await stage.app.count("SELECT count(*) FROM youtube_account_quota") == 3)
      stage.time.advance(stage.rules.keep + 2 * 86_400)
      try await stage.app.client.enqueue(LookupUpkeep())
      try await stage.work()
      #expect(try await stage.app.count("SELECT count(*) FROM youtube_account_quota") == 0)
    }
  }

  @Test func unitsHaveSharesToo() async throws {
    try await LookupStage.run { stage in
      var stage = stage
      stage.rules.budgets = QuotaBudgets(units: 1000, searchUnits: 100)
      let accounts = try await stage.app.accounts(1)
      var tally = Tally()
      // The share is one search, and one call is always allowed.
      tally.add(try await stage.ask("words", by: accounts[0]))
      tally.add(try await stage.ask("more words", by: accounts[0]))
      tally.add(try await stage.ask("@name", by: accounts[0]))
      #expect(tally == Tally(lookups: 1, refused: 2))
      #expect(try await stage.app.count("SELECT booked FROM youtube_account_quota") == 100)
    }
  }
}
