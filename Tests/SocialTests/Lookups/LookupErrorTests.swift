import DurableJobs
import DurableJobsPostgres
import DurableJobsTesting
import Foundation
import LibPQClient
import Locking
import Logging
import TestSupport
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(5))) struct LookupErrorTests {
  // MARK: Spent

  static let spent: [YouTubeResponse] = [
    .refusal(403, "quotaExceeded", "The request exceeds your <a href=\\\"/x\\\">quota</a>."),
    .refusal(403, "dailyLimitExceeded"),
    .refusal(
      429, "rateLimitExceeded",
      "Quota exceeded for quota metric 'Search Queries' and limit 'Search Queries per day' of service 'youtube.googleapis.com'"
    ),
    .refusal(
      429, "RESOURCE_EXHAUSTED",
      more:
        #","details":[{"@type":"x","reason":"RATE_LIMIT_EXCEEDED","metadata":{"quota_limit":"SearchPerDayPerProject"}}]"#
    ),
  ]

  @Test(arguments: spent) func aSpentBudgetParksUntilMidnight(_ refusal: YouTubeResponse) async throws {
    try await LookupStage.run { stage in
      stage.service.answer { _ in refusal }
      try await stage.spend(50)
      let id = try await stage.begin("words")
      try await stage.work()
      let midnight = PacificDay(containing: stage.time.now).end
      let parked = try await stage.lookup(id)
      #expect(parked.state == .parked)
      let retryAt = try #require(parked.retryAt)
      #expect((midnight...midnight + 600).contains(retryAt))
      // A job's time is in milliseconds.
      #expect(
        try await stage.app.count(
          """
          SELECT count(*) FROM jobs
          WHERE kind = 'lookups.text' AND run_at BETWEEN \(retryAt) AND \(retryAt + 0.001)
          """) == 1)
      // The key's budget is known to be spent: no call is made today, and no new lookup starts.
      guard case .exhausted(let until) = try await stage.ask("other words") else { return #expect(Bool(false)) }
      #expect(until == midnight)
      // The same query joins the parked lookup.
      #expect(try await stage.begin("words") == id)
      #expect(stage.service.requests.count == 1)
      #expect(try await stage.used(.searches) == [50, 0])
      // Units are a separate budget.
      stage.service.answer { try YouTubeResponse.of($0) }
      #expect(try await stage.find("@name").lookup.state == .done)
      // The next day it continues.
      stage.time.advance(midnight.timeIntervalSince(stage.time.now))
      try await stage.tryAgainAndAgain()
      #expect(try await stage.lookup(id).state == .done)
      #expect(try await stage.lookup(id).retryAt == nil)
    }
  }

  @Test(arguments: spent) func aBudgetThatIsCalledSpentThoughLittleWasUsedIsAskedForAgain(
    _ refusal: YouTubeResponse
  ) async throws {
    try await LookupStage.run { stage in
      // A moment after midnight the service has not begun the new day.
      let start = PacificDay(containing: stage.time.now).end
      stage.time.advance(start.timeIntervalSince(stage.time.now) + 1)
      stage.service.answer { _ in refusal }
      let id = try await stage.begin("words")
      try await stage.work()
      let retryAt = try #require(try await stage.lookup(id).retryAt)
      #expect((stage.time.now + 60...stage.time.now + 660).contains(retryAt))
      guard case .exhausted(let until) = try await stage.ask("other words") else { return #expect(Bool(false)) }
      #expect(until.timeIntervalSince(stage.time.now + 60).magnitude < 0.001)
      #expect(stage.service.requests.count == 1)
      // Now it has.
      stage.time.advance(61)
      stage.service.answer { try YouTubeResponse.of($0) }
      _ = try await stage.begin("other words")
      try await stage.tryAgainAndAgain()
      for number in 0..<5 { #expect(try await stage.find("words \(number)").lookup.state == .done) }
      #expect(try await stage.lookup(id).state == .done)
      #expect(try await stage.used(.searches) == [7, 0])
    }
  }

  @Test func parkedLookupsComeBackSpreadOverTenMinutes() async throws {
    try await LookupStage.run { stage in
      try await stage.spend(100)
      let midnight = PacificDay(containing: stage.time.now).end
      // They started while budget was left.
      try await stage.app.pool.execute("UPDATE youtube_quota SET spent = 0")
      for number in 0..<40 { _ = try await stage.begin("words \(number)") }
      try await stage.app.pool.execute("UPDATE youtube_quota SET spent = 100")
      try await stage.work()
      let times = try await stage.app.pool.query("SELECT retry_at FROM lookups WHERE state = 'parked'")
        .decode(Date.self)
      #expect(times.count == 40)
      #expect(times.allSatisfy { (midnight...midnight + 600).contains($0) })
      // Forty random times all fall into one half with a chance of 2 to the power of -39.
      #expect(Set(times.map { $0 < midnight + 300 }) == [true, false])
      #expect(stage.service.requests.isEmpty)
    }
  }

  @Test func aBudgetThatIsCountedOutIsNotAskedFor() async throws {
    try await LookupStage.run { stage in
      var stage = stage
      stage.rules.budgets.searches = 2
      for question in ["one", "two"] { #expect(try await stage.find(question).lookup.state == .done) }
      guard case .exhausted = try await stage.ask("three") else { return #expect(Bool(false)) }
      // Stored results are returned even if they are stale.
      stage.time.advance(stage.rules.fresh + 1)
      let day = PacificDay(containing: stage.time.now).description
      try await stage.app.pool.execute("UPDATE youtube_quota SET day = \(day)::date")
      guard case .channels(let kept) = try await stage.ask("one") else { return #expect(Bool(false)) }
      #expect(kept.map(\.title) == ["about one"])
      #expect(stage.service.requests.count == 2)
    }
  }

  @Test func lookupsThatBeganBeforeTheBudgetWasSpentPark() async throws {
    try await LookupStage.run { stage in
      var stage = stage
      stage.rules.budgets.searches = 3
      for number in 0..<10 { _ = try await stage.begin("words \(number)") }
      try await stage.work()
      #expect(stage.service.requests.count == 3)
      #expect(try await stage.app.count("SELECT count(*) FROM lookups WHERE state = 'done'") == 3)
      #expect(try await stage.app.count("SELECT count(*) FROM lookups WHERE state = 'parked'") == 7)
      #expect(try await stage.used(.searches) == [3, 0])
    }
  }

  @Test func searchesMayBePaidInUnits() async throws {
    try await LookupStage.run { stage in
      var stage = stage
      stage.rules.budgets = QuotaBudgets(units: 250, searchUnits: 100)
      for number in 0..<3 { _ = try await stage.begin("words \(number)") }
      try await stage.work()
      #expect(stage.service.requests.count == 2)
      #expect(try await stage.used(.units) == [200, 0])
      #expect(try await stage.find("@name").lookup.state == .done)
      #expect(try await stage.used(.units) == [201, 0])
    }
  }

  // MARK: Keys

  static let refusedKeys: [YouTubeResponse] = [
    .refusal(400, "keyInvalid"), .refusal(400, "badRequest", "API key not valid. Please pass a valid API key."),
    .refusal(400, "keyExpired"), .refusal(400, "badRequest", "API key expired. Please renew the API key."),
    .refusal(400, "badRequest", more: #","details":[{"reason":"API_KEY_INVALID","domain":"googleapis.com"}]"#),
    .refusal(403, "forbidden", "The provided API key has an IP address restriction."),
    .refusal(403, "accessNotConfigured"),
    .refusal(403, "other", more: #","details":[{"reason":"API_KEY_SERVICE_BLOCKED","domain":"googleapis.com"}]"#),
  ]

  @Test(arguments: refusedKeys) func aRefusedKeyIsDisabledAndAnotherGoesOn(_ refusal: YouTubeResponse) async throws {
    try await LookupStage.run(keys: ["good", "bad"]) { stage in
      stage.service.answer { $0.key == "bad" ? refusal : try YouTubeResponse.of($0) }
      for number in 0..<6 { #expect(try await stage.find("words \(number)").lookup.state == .done) }
      #expect(stage.service.requests.filter { $0.key == "bad" }.count == 1)
      let disabled = try await stage.app.pool.query(
        "SELECT label, reason FROM youtube_keys WHERE disabled_at IS NOT NULL"
      ).decode(String.self, String.self)
      #expect(disabled.map(\.0) == [YouTubeKey("bad").label])
      // Calls on the refused key count as spent: invalid requests cost too.
      #expect(try await stage.used(.searches) == [7, 0])
    }
  }

  static let refusedQuestions: [YouTubeResponse] = [
    .refusal(400, "badRequest", "Bad Request"), .refusal(403, "forbidden", "Access forbidden."),
    // The service repeats the query.
    .refusal(400, "badRequest", "No filter 'API key not valid. Please pass a valid API key.'"),
    .refusal(400, "invalidSearchFilter"),
  ]

  @Test(arguments: refusedQuestions) func aRefusedQuestionDisablesNoKey(_ refusal: YouTubeResponse) async throws {
    try await LookupStage.run(keys: ["one", "two"]) { stage in
      stage.service.answer { $0.query["q"] == "bad" ? refusal : try YouTubeResponse.of($0) }
      let (bad, _) = try await stage.find("bad")
      #expect(bad.state == .failed)
      #expect(stage.service.requests.count == 1)
      #expect(try await stage.app.count("SELECT count(*) FROM youtube_keys") == 0)
      for number in 0..<4 { #expect(try await stage.find("words \(number)").lookup.state == .done) }
    }
  }

  @Test func withoutAKeyThatWorksLookupsFailAndSaySo() async throws {
    try await LookupStage.run(keys: ["bad", "worse"]) { stage in
      stage.service.answer { _ in .refusal(400, "keyInvalid") }
      let (lookup, _) = try await stage.find("words")
      #expect(lookup.state == .failed)
      #expect(lookup.reason == "no_key")
      guard case .noKey = try await stage.ask("words") else { return #expect(Bool(false)) }
      #expect(stage.service.requests.count == 2)
    }
    try await LookupStage.run(keys: []) { stage in
      guard case .noKey = try await stage.ask("words") else { return #expect(Bool(false)) }
      #expect(try await stage.app.count("SELECT count(*) FROM lookups") == 0)
    }
  }

  @Test func aSpentKeyHandsOverToAnother() async throws {
    try await LookupStage.run(keys: ["fresh", "spent"]) { stage in
      stage.service.answer { $0.key == "spent" ? .refusal(403, "quotaExceeded") : try YouTubeResponse.of($0) }
      for number in 0..<4 {
        let (lookup, _) = try await stage.find("words \(number)")
        #expect(lookup.state == .done)
      }
      #expect(stage.service.requests.filter { $0.key == "spent" }.count == 1)
    }
  }

  // MARK: Later, or never

  static let passing: [(YouTubeResponse, String)] = [
    (.refusal(429, "rateLimitExceeded", "Quota exceeded for limit 'Queries per minute'"), "rateLimitExceeded"),
    (.refusal(403, "userRateLimitExceeded"), "userRateLimitExceeded"), (.refusal(500, "backendError"), "backendError"),
    (YouTubeResponse(503, "<html>Service unavailable</html>"), "http_503"), (YouTubeResponse(502, ""), "http_502"),
    (YouTubeResponse(200, "<html>not JSON</html>"), "malformed_answer"),
    (YouTubeResponse(200, #"{"items":[{"id":{"channelId":"UCx"},"snip"#), "malformed_answer"),
    (YouTubeResponse(200, #"{"items":[{"id":7}]}"#), "malformed_answer"),
    (YouTubeResponse(200, "[]"), "malformed_answer"),
    (YouTubeResponse(302, ""), "http_302"), (YouTubeResponse(304, ""), "http_304"),
  ]

  @Test(arguments: passing.indices) func whatMayPassIsTriedAgain(_ index: Int) async throws {
    let (answer, reason) = Self.passing[index]
    try await LookupStage.run { stage in
      stage.service.answer { [service = stage.service] request in
        service.requests.count < 3 ? answer : try YouTubeResponse.of(request)
      }
      let id = try await stage.begin("words")
      // Without the pauses, since the jobs' retries are the worker's.
      try await stage.tryAgainAndAgain()
      #expect(try await stage.lookup(id).state == .done)
      #expect(stage.service.requests.count == 3)
      #expect(try await stage.used(.searches) == [3, 0])
      stage.service.answer { _ in answer }
      let bad = try await stage.begin("@bad")
      try await stage.tryAgainAndAgain()
      let failed = try await stage.lookup(bad)
      #expect(failed.state == .failed)
      #expect(failed.reason == reason)
      #expect(stage.service.requests.count == 3 + TextLookup.retry.maxAttempts)
      #expect(try await stage.app.count("SELECT count(*) FROM channels") == 1)
      #expect(try await stage.app.count("SELECT count(*) FROM jobs") == 0)
      #expect(try await stage.app.count("SELECT count(*) FROM dead_jobs") == 0)
    }
  }

  @Test func aFailedTransportIsTriedAgainAndCostsOnlyWhatLeft() async throws {
    try await LookupStage.run { stage in
      stage.service.answer { [service = stage.service] request in
        switch service.requests.count {
        case 1: throw YouTubeTransportError("timeout", "no answer within 10 s")
        case 2: throw YouTubeTransportError("name_not_resolved", "no such host", isUnsent: true)
        default: return try YouTubeResponse.of(request)
        }
      }
      let id = try await stage.begin("words")
      try await stage.tryAgainAndAgain()
      #expect(try await stage.lookup(id).state == .done)
      #expect(try await stage.used(.searches) == [2, 0])
    }
  }

  @Test func otherRefusalsAreFinalWithTheirReason() async throws {
    try await LookupStage.run { stage in
      stage.service.answer { _ in .refusal(404, "channelNotFound", "No <b>such</b> channel &amp; so on") }
      let (lookup, _) = try await stage.find("@name")
      #expect(lookup.state == .failed)
      #expect(lookup.reason == "channelNotFound")
      #expect(lookup.message == "No such channel & so on")
      #expect(stage.service.requests.count == 1)
      // A later query may succeed.
      stage.service.answer { try YouTubeResponse.of($0) }
      #expect(try await stage.find("@name").lookup.state == .done)
    }
  }

  @Test func oneSlowAnswerKeepsNoOtherWaiting() async throws {
    try await LookupStage.run { stage in
      let gate = Locked(false)
      stage.service.answer { request in
        if request.query["q"] == "slow" { try await eventually { gate.withLock { $0 } } }
        return try YouTubeResponse.of(request)
      }
      let slow = try await stage.begin("slow")
      for number in 0..<20 { _ = try await stage.begin("words \(number)") }
      try await stage.working(concurrency: 1) {
        try await eventually { try await stage.app.count("SELECT count(*) FROM lookups WHERE state = 'done'") >= 10 }
        #expect(try await stage.lookup(slow).state == .running)
        gate.withLock { $0 = true }
        try await eventually { try await stage.app.count("SELECT count(*) FROM lookups WHERE state = 'done'") == 21 }
      }
    }
  }

  // MARK: Secrecy

  @Test func aKeyStandsNowhereButInRequests() async throws {
    let key = "AIzaSyA-very-secret-key-0123456789abcd"
    let log = Locked<[String]>([])
    let logger = Logger(label: "lookups") { _ in LogRecorder(log) }
    try await LookupStage.run(keys: [key, "another-key-that-nobody-may-see"]) { stage in
      let keys = stage.rules.keys
      // A service that returns the key wherever it can.
      stage.service.answer { [service = stage.service] request in
        switch service.requests.count % 5 {
        case 0: return .refusal(404, "bad\(request.key)", "no such key: \(request.key)")
        case 1: return .refusal(503, "later \(request.key)", "url was ?key=\(request.key)")
        case 2: throw YouTubeTransportError("connection", "cannot connect to https://x/?key=\(request.key)")
        case 3: return YouTubeResponse(200, "{\"\(request.key)\":")
        default: return .refusal(403, "forbidden", "\(request.key) is blocked")
        }
      }
      for number in 0..<12 { if case .lookup = try await stage.ask("words \(number)") {} }
      try await stage.tryAgainAndAgain(logger: logger)
      var seen = log.withLock { $0.joined() } + "\(stage.rules)\(stage.youtube())\(keys)"
      dump(keys, to: &seen)
      for table in ["lookups", "jobs", "dead_jobs", "youtube_keys", "youtube_quota", "channels", "channel_answers"] {
        seen += try await stage.app.pool.query("SELECT \(unescaped: table)::text FROM \(unescaped: table)")
          .decode(String.self).joined()
      }
      #expect(seen.contains(keys[0].label))
      #expect(!seen.isEmpty && stage.service.requests.count > 5)
      for key in keys { #expect(!seen.contains(key.value)) }
    }
  }
}

extension LookupStage {
  /// Books searches of the first key for today.
  func spend(_ searches: Int) async throws {
    try await app.pool.execute(
      """
      INSERT INTO youtube_quota (key, day, budget, spent)
      VALUES (\(rules.keys[0].label), \(PacificDay(containing: time.now).description)::date, 'searches', \(searches))
      """)
  }

  /// Serves until no lookup is open, and runs jobs waiting for a retry at once.
  func tryAgainAndAgain(logger: Logger = logger) async throws {
    try await working(logger: logger) {
      try await eventually {
        await app.broker.promote(SocialJobs.lookupQueue)
        return try await app.count("SELECT (SELECT count(*) FROM jobs) + \(unescaped: Self.busy)") == 0
      }
    }
  }
}
