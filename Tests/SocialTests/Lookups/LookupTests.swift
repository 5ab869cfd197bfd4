import DurableJobs
import DurableJobsPostgres
import DurableJobsTesting
import Foundation
import LibPQClient
import TestSupport
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(5))) struct LookupTests {
  @Test func wordsAreSearchedAndTheAnswerIsKept() async throws {
    try await LookupStage.run { stage in
      stage.service.answer { request in
        let id = channelID("some body")
        return YouTubeResponse(
          """
          {"items":[{"id":{"kind":"youtube#channel","channelId":"\(id)"},"snippet":{"title":"Tom &amp;amp; Jerry&#39;s",
          "publishedAt":"2012-07-19T12:00:00Z","channelId":"\(id)","thumbnails":{"high":{"url":"https://e.org/1"}},"new":[]}},
          {"id":{"kind":"youtube#video","videoId":"v"},"snippet":{"title":"no channel"}},
          {"id":{"channelId":"\(channelID("b"))"},"snippet":{"title":"contradicts itself","channelId":"\(id)"}}]}
          """)
      }
      let (lookup, channels) = try await stage.find(" Some  BODY ")
      #expect(lookup.state == .done)
      #expect(lookup.endedAt != nil)
      #expect(
        channels == [
          Channel(
            id: channelID("some body"), title: "Tom &amp; Jerry's", thumbnail: "https://e.org/1",
            publishedAt: try date("2012-07-19T12:00:00Z"))
        ])
      let request = try #require(stage.service.requests.first)
      #expect(request.path == "search")
      #expect(request.query == ["part": "id,snippet", "type": "channel", "q": "Some BODY", "key": "key-one"])
      // A repeated query by any account, in any spelling, makes no new call.
      guard case .channels(let kept) = try await stage.ask("some body") else { return #expect(Bool(false)) }
      #expect(kept == channels)
      // The channel found is also stored by its id.
      guard case .channels(let byID) = try await stage.ask(channelID("some body")) else { return #expect(Bool(false)) }
      #expect(byID == channels)
      #expect(stage.service.requests.count == 1)
      #expect(try await stage.used(.searches) == [1, 0])
      #expect(try await stage.used(.units) == [0, 0])
    }
  }

  @Test func idsAreAskedForTogetherAndHandlesOneByOne() async throws {
    try await LookupStage.run { stage in
      let ids = (0..<60).map { channelID("channel\($0)") }
      for id in ids { _ = try await stage.begin(id) }
      let handle = try await stage.begin("@SomeBody")
      try await stage.work()
      let calls = stage.service.requests
      #expect(calls.allSatisfy { $0.path == "channels" })
      let asked = calls.compactMap { $0.query["id"]?.split(separator: ",").map(String.init) }
      #expect(asked.allSatisfy { $0.count <= 50 })
      #expect(asked.joined().sorted() == ids.sorted())
      // The size of each group depends on when its jobs are claimed.
      #expect(asked.count < 30, "60 ids took \(asked.count) calls")
      #expect(calls.filter { $0.query["forHandle"] == "@SomeBody" }.count == 1)
      let channel = try #require(try await stage.channels(handle).first)
      #expect(channel.handle == "@SomeBody")
      #expect(channel.subscribers == 3450)
      #expect(channel.publishedAt.map { $0.timeIntervalSince1970 } == 1_546_398_245.678)
      #expect(try await stage.used(.units) == [calls.count, 0])
      #expect(try await stage.app.count("SELECT count(*) FROM channels") == 61)
      #expect(try await stage.app.count("SELECT count(*) FROM lookups WHERE state = 'done'") == 61)
    }
  }

  @Test func anotherChannelThanTheOneAskedForIsNoHit() async throws {
    try await LookupStage.run { stage in
      stage.service.answer { _ in
        YouTubeResponse(#"{"items":[\#(YouTubeResponse.item(channelID("other")))]}"#)
      }
      let (lookup, channels) = try await stage.find(channelID("wanted"))
      #expect(lookup.state == .done)
      #expect(channels.isEmpty)
    }
  }

  @Test(arguments: [#"{"kind":"youtube#channelListResponse","pageInfo":{"totalResults":0}}"#, #"{"items":[]}"#])
  func nothingFoundIsAnAnswer(_ body: String) async throws {
    try await LookupStage.run { stage in
      stage.service.answer { _ in YouTubeResponse(body) }
      for question in [channelID("a"), "@nobody", "no such"] {
        let (lookup, channels) = try await stage.find(question)
        #expect(lookup.state == .done)
        #expect(channels.isEmpty)
        guard case .channels(let kept) = try await stage.ask(question) else { return #expect(Bool(false)) }
        #expect(kept.isEmpty)
      }
    }
  }

  @Test func manyWhoAskTheSameShareOneCall() async throws {
    try await LookupStage.run { stage in
      stage.service.answer { request in
        try await Task.sleep(for: .milliseconds(20))
        return try YouTubeResponse.of(request)
      }
      try await stage.working {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<64 {
            group.addTask {
              let spelling = number % 2 == 0 ? "the same" : " the   same"
              for _ in 0..<10 {
                switch try await stage.ask(spelling) {
                case .lookup(let id):
                  try await eventually { try await stage.lookup(id).state == .done }
                case .channels(let channels): #expect(channels.map(\.id) == [channelID("the same")])
                default: Issue.record("no answer")
                }
              }
            }
          }
          try await group.waitForAll()
        }
      }
      #expect(stage.service.requests.count == 1)
      #expect(try await stage.app.count("SELECT count(*) FROM lookups") == 1)
    }
  }

  // MARK: Cache

  @Test(arguments: ["words", "@handle", channelID("one")])
  func aStaleAnswerIsConfirmedByItsEtagByteForByte(_ question: String) async throws {
    try await LookupStage.run { stage in
      let etag = #"W/"5g01s4-_x=+ "äé""#
      stage.service.answer { request in
        if request.etag == etag { return YouTubeResponse(status: 304) }
        var answer = try YouTubeResponse.of(request)
        answer.etag = etag
        return answer
      }
      let first = try await stage.find(question)
      #expect(!first.channels.isEmpty)
      stage.time.advance(stage.rules.fresh + 1)
      let again = try await stage.find(question)
      #expect(again.lookup.state == .done)
      #expect(again.channels == first.channels)
      #expect(stage.service.requests.map(\.etag) == [nil, etag])
      // Fresh again, as of the confirmation.
      guard case .channels = try await stage.ask(question) else { return #expect(Bool(false)) }
      #expect(
        try await stage.app.count("SELECT count(*) FROM channels WHERE fetched_at = \(stage.time.now)") == 1)
    }
  }

  @Test func anEtagOfTheBodyServesWhereThereIsNoHeader() async throws {
    try await LookupStage.run { stage in
      _ = try await stage.find("words")
      stage.time.advance(stage.rules.fresh + 1)
      _ = try await stage.find("words")
      #expect(stage.service.requests.map(\.etag) == [nil, "inner"])
    }
  }

  @Test func whatIsStaleIsAskedForAgainAndReplaced() async throws {
    try await LookupStage.run { stage in
      let id = try await stage.find("@name").channels[0].id
      stage.time.advance(stage.rules.fresh + 1)
      stage.service.answer { _ in YouTubeResponse(#"{"items":[\#(YouTubeResponse.item(id, title: "renamed"))]}"#) }
      let lookup = try await stage.begin("@name")
      // Until then the older result is shown.
      #expect(try await stage.channels(lookup).map(\.title) == ["a title"])
      try await stage.work()
      #expect(try await stage.channels(lookup).map(\.title) == ["renamed"])
    }
  }

  @Test func aSearchLeavesDetailsAsOldAsTheyAre() async throws {
    try await LookupStage.run { stage in
      let id = channelID("some words")
      let first = stage.time.now
      _ = try await stage.find(id)
      stage.time.advance(stage.rules.fresh + 1)
      _ = try await stage.find("some words")
      let channel = try #require(try await ChannelStore.channel(id, in: stage.app.pool))
      #expect(channel.title == "about some words")
      #expect(channel.subscribers == 3450)
      #expect(try await stage.app.count("SELECT count(*) FROM channels WHERE fetched_at = \(first)") == 1)
    }
  }

  // MARK: Jobs

  @Test func aLookupWhoseJobWasGivenUpIsBegunAnew() async throws {
    try await LookupStage.run { stage in
      let lost = try await stage.begin("words")
      try await stage.app.pool.execute("DELETE FROM jobs")
      let next = try await stage.begin("words")
      #expect(next != lost)
      #expect(try await stage.lookup(lost).reason == "given_up")
      #expect(try await stage.lookup(lost).state == .failed)
      // The first one's job returns from the dead letters: it has nothing to do.
      try await stage.app.client.enqueue(TextLookup(lookup: lost, words: "words"))
      try await stage.work()
      #expect(stage.service.requests.count == 1)
      #expect(try await stage.lookup(next).state == .done)
    }
  }

  @Test func anotherDeliveryOfAJobChangesNothing() async throws {
    try await LookupStage.run { stage in
      for number in 0..<20 { _ = try await stage.begin("words \(number)") }
      let ledger = PostgresLedger(pool: stage.app.pool)
      let ids = try await ledger.pendingIDs(
        queue: SocialJobs.lookupQueue, after: nil, before: JobID(high: .max, low: 0), limit: 100)
      let other = InMemoryBroker()
      await other.push(try await ledger.records(ids, queue: SocialJobs.lookupQueue))
      // Every job is delivered by two brokers at once.
      try await stage.working(broker: other) { try await stage.work() }
      #expect(try await stage.app.count("SELECT count(*) FROM lookups WHERE state = 'done'") == 20)
      #expect(try await stage.app.count("SELECT count(*) FROM dead_jobs") == 0)
      // Queries asked twice were paid twice.
      let used = try await stage.used(.searches)
      #expect(used[0] + used[1] >= stage.service.requests.count)
      #expect(stage.service.requests.count <= 40)
    }
  }

  @Test func aProcessWithoutAWayToYouTubeOnlyChecksPayloads() throws {
    var registry = JobRegistry<PostgresLedger>()
    SocialJobs.register(in: &registry)
    let entry = try #require(registry.entries[TextLookup.kind])
    try entry.validate(Array(#"{"lookup":"\#(UUID())","words":"a"}"#.utf8), 1)
    #expect(throws: PayloadError.self) { try entry.validate(Array(#"{"lookup":"x","words":"a"}"#.utf8), 1) }
  }
}
