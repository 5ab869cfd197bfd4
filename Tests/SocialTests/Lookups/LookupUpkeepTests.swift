import DurableJobs
import DurableJobsTesting
import Foundation
import LibPQClient
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(5))) struct LookupUpkeepTests {
  private let day: TimeInterval = 86_400

  /// Runs a tick of the schedule and everything that follows from it.
  private func keepUp(_ stage: LookupStage) async throws {
    try await stage.app.client.enqueue(LookupUpkeep())
    try await stage.work()
  }

  @Test func whatIsOldIsAskedForAgainFiftyAUnit() async throws {
    try await LookupStage.run { stage in
      let channels = (0..<120).map { Channel(id: channelID("channel\($0)"), title: "old", subscribers: 1) }
      let date = stage.time.now
      try await stage.app.pool.pipeline(ChannelStore.keep(channels: channels.map { ($0, true) }, at: date))
      stage.time.advance(24 * day)
      try await keepUp(stage)
      #expect(stage.service.requests.isEmpty)
      stage.time.advance(1.5 * day)
      try await keepUp(stage)
      #expect(stage.service.requests.count == 3)
      #expect(try await stage.used(.units) == [3, 0])
      #expect(try await stage.app.count("SELECT count(*) FROM channels WHERE title = 'a title'") == 120)
      #expect(try await stage.app.count("SELECT count(*) FROM channels WHERE fetched_at = \(stage.time.now)") == 120)
      // A second tick finds nothing to do.
      try await keepUp(stage)
      #expect(stage.service.requests.count == 3)
    }
  }

  @Test func channelsThatAreGoneAreDeleted() async throws {
    try await LookupStage.run { stage in
      let ids = try await [stage.find("@stays").channels[0].id, stage.find("@goes").channels[0].id]
      stage.time.advance(26 * day)
      stage.service.answer { _ in YouTubeResponse(#"{"items":[\#(YouTubeResponse.item(ids[0]))]}"#) }
      try await keepUp(stage)
      #expect(try await ChannelStore.channel(ids[0], in: stage.app.pool) != nil)
      #expect(try await ChannelStore.channel(ids[1], in: stage.app.pool) == nil)
    }
  }

  @Test func whatCouldNotBeAskedForIsDeletedAfterThirtyDays() async throws {
    try await LookupStage.run { stage in
      _ = try await stage.find("words")
      _ = try await stage.find("@name")
      stage.service.answer { _ in .refusal(403, "quotaExceeded") }
      stage.time.advance(29 * day)
      try await keepUp(stage)
      #expect(try await stage.app.count("SELECT count(*) FROM channels") == 2)
      stage.time.advance(1.01 * day)
      // Even before the cleanup, results that are too old are not shown.
      guard case .lookup(let open) = try await stage.ask("@name") else { return #expect(Bool(false)) }
      #expect(try await stage.channels(open).isEmpty)
      try await keepUp(stage)
      #expect(try await stage.app.count("SELECT count(*) FROM channels") == 0)
      // The answer that is being refreshed waits to be replaced, without its channels.
      #expect(
        try await stage.app.pool.query("SELECT question FROM channel_answers").decode(String.self) == ["handle:@name"])
      #expect(try await stage.app.count("SELECT count(*) FROM lookups WHERE state = 'done'") == 0)
    }
  }

  @Test func anAnswerWhoseChannelIsGoneIsNotConfirmedByItsEtag() async throws {
    try await LookupStage.run { stage in
      _ = try await stage.find("words")
      try await stage.app.pool.execute("UPDATE channels SET fetched_at = \(stage.time.now - 31 * day)")
      try await keepUp(stage)
      #expect(try await stage.app.count("SELECT count(*) FROM channel_answers WHERE etag IS NULL") == 1)
    }
  }

  @Test func lookupsWhoseJobsWereGivenUpEnd() async throws {
    try await LookupStage.run { stage in
      let lost = try await stage.begin("lost")
      try await stage.app.pool.execute("DELETE FROM jobs")
      await stage.app.broker.forgetEverything()
      _ = try await stage.begin("waits")
      try await keepUp(stage)
      #expect(try await stage.lookup(lost).state == .failed)
      #expect(try await stage.app.count("SELECT count(*) FROM lookups WHERE state = 'done'") == 1)
    }
  }

  @Test func aRefreshThatFailsIsTriedAgain() async throws {
    try await LookupStage.run { stage in
      _ = try await stage.find("@name")
      stage.time.advance(26 * day)
      stage.service.answer { [service = stage.service] request in
        service.requests.count < 4 ? YouTubeResponse(503, "") : try YouTubeResponse.of(request)
      }
      try await stage.app.client.enqueue(LookupUpkeep())
      try await stage.tryAgainAndAgain()
      #expect(stage.service.requests.count == 4)
      #expect(try await stage.app.count("SELECT count(*) FROM channels WHERE fetched_at = \(stage.time.now)") == 1)
      #expect(try await stage.used(.units) == [4, 0])
    }
  }
}
