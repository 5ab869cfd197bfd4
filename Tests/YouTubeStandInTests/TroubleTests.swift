import CurlClient
import Foundation
import Locking
import Testing

@testable import YouTubeStandIn

@Suite("The stand-in's troubles", .timeLimit(.minutes(1)))
struct TroubleTests {
  @Test(arguments: [
    (StandInFault.quotaExceeded, 403, "quotaExceeded"), (.dailyLimitExceeded, 403, "dailyLimitExceeded"),
    (.perDayLimit, 429, "RATE_LIMIT_EXCEEDED"), (.perMinuteLimit, 429, "RATE_LIMIT_EXCEEDED"),
    (.backendError, 500, "backendError"), (.serviceUnavailable, 503, "backendError"), (.keyInvalid, 400, "keyInvalid"),
    (.apiKeyInvalid, 400, "API_KEY_INVALID"), (.badRequest, 400, "badRequest"),
    (.accessNotConfigured, 403, "accessNotConfigured"), (.forbidden, 403, "forbidden"),
    (.serviceBlocked, 403, "API_KEY_SERVICE_BLOCKED"), (.invalidParameter, 400, "invalidSearchFilter"),
    (.notFound, 404, "channelNotFound"),
  ])
  func errors(_ fault: StandInFault, _ status: Int, _ reason: String) async throws {
    try await withStandIn { stage async throws in
      let answer = try await stage.search("fault:\(fault.rawValue) please")
      #expect(answer.status == status && answer.reasons.contains(reason))
      if fault == .perDayLimit { #expect(answer.message.contains("per day")) }
      if fault == .perMinuteLimit { #expect(answer.message.contains("per minute")) }
      if fault == .quotaExceeded { #expect(answer.message.contains("<a href=")) }
    }
  }

  @Test func brokenAnswers() async throws {
    try await withStandIn { stage async throws in
      let page = try await stage.search("fault:notJSON")
      #expect(page.status == 200 && page.json.isEmpty && page.bytes.first == UInt8(ascii: "<"))
      #expect(try await stage.search("fault:internalErrorPage").status == 500)
      let cut = try await stage.search("fault:cutOffJSON")
      #expect(cut.status == 200 && cut.json.isEmpty && cut.bytes.first == UInt8(ascii: "{"))
      for (fault, code) in [
        ("cutOff", HTTPClientError.Code.transfer), ("drop", .transfer), ("tooLarge", .bodyTooLarge),
      ] {
        let error = await #expect(throws: HTTPClientError.self) { _ = try await stage.search("fault:\(fault)") }
        #expect(error?.code == code, "\(fault)")
      }
      #expect(try await stage.search("all is well").status == 200)
    }
  }

  @Test func silentAnswers() async throws {
    try await withStandIn(client: { $0.stallTimeout = .milliseconds(150) }) { stage async throws in
      let silent = await #expect(throws: HTTPClientError.self) { _ = try await stage.search("fault:slow") }
      #expect(silent?.code == .stalled)
    }
  }

  /// On a busy machine, a byte can come much later than it should.
  @Test func drippingAnswers() async throws {
    try await withStandIn(client: {
      $0.stallTimeout = .seconds(4)
      $0.timeout = .seconds(6)
    }) { stage async throws in
      let dripping = await #expect(throws: HTTPClientError.self) { _ = try await stage.search("fault:trickle") }
      #expect(dripping?.code == .timeout)
    }
  }

  @Test func ordersAreForSomeCallsOfAKeyOrARoute() async throws {
    try await withStandIn { stage async throws in
      #expect(try await stage.control(#"{"fault": "backendError", "times": 2, "key": "A", "route": "search"}"#) == 204)
      #expect(try await stage.search("x", key: "B").status == 200)
      #expect(try await stage.channels("forHandle=x", key: "A").status == 200)
      #expect(try await stage.search("x", key: "A").status == 500)
      #expect(try await stage.search("x", key: "A").status == 500)
      #expect(try await stage.search("x", key: "A").status == 200)
      #expect(try await stage.control(#"{"fault": "serviceUnavailable"}"#) == 204)
      for _ in 0..<3 { #expect(try await stage.search("x").status == 503) }
      #expect(try await stage.control(#"{"fault": null}"#) == 204)
      #expect(try await stage.search("x").status == 200)
      #expect(try await stage.control(#"{"fault": "nonsense"}"#) == 400)
    }
  }

  @Test func budgetsRunOutAndComeBackAtMidnightInCalifornia() async throws {
    // Midnight of the third of November 2026 in California, after daylight saving has ended: 08:00 in UTC.
    let midnight = Date(timeIntervalSince1970: 1_793_692_800)
    let now = Locked(midnight - 1)
    try await withStandIn {
      $0.searchBudget = 2
      $0.unitBudget = 3
    } now: {
      now.withLock { $0 }
    } _: { stage async throws in
      for _ in 0..<2 { #expect(try await stage.search("x").status == 200) }
      let search = try await stage.search("x")
      #expect(search.status == 429 && search.message.contains("per day"))
      // A refused request costs too.
      #expect(try await stage.channels("mine=true").status == 400)
      for _ in 0..<2 { #expect(try await stage.channels("forHandle=x").status == 200) }
      let list = try await stage.channels("forHandle=x")
      #expect(list.status == 403 && list.reasons == ["quotaExceeded"])
      #expect(try await stage.search("x", key: "other").status == 200)
      now.withLock { $0 = midnight }
      #expect(try await stage.search("x").status == 200)
      #expect(try await stage.channels("forHandle=x").status == 200)
    }
  }

  @Test func callsAreCounted() async throws {
    try await withStandIn {
      $0.keys = ["A"]
    } _: { stage async throws in
      let etag = try await stage.search("x", key: "A").json["etag"] as? String
      #expect(try await stage.search("x", key: "A", etag: etag).status == 304)
      #expect(try await stage.channels("forHandle=x", key: "A").status == 200)
      #expect(try await stage.search("x", key: "B").reasons.contains("API_KEY_INVALID"))
      let counts = try await stage.get("/control").json
      #expect(counts["search"] as? Int == 3 && counts["channels"] as? Int == 1 && counts["notModified"] as? Int == 1)
      let keys = try #require(counts["keys"] as? [String: [String: Int]])
      #expect(keys["A"] == ["search": 2, "channels": 1, "notModified": 1] && keys["B"]?["search"] == 1)
    }
  }
}
