import Foundation
import Testing

@testable import FanmillClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct RetryTests {
  @Test func aPostKeepsItsKeyAcrossAttempts() async throws {
    let scene = Scene([
      .failure(URLError(.networkConnectionLost)), .problem(503, "unavailable", headers: ["retry-after": "2"]),
      .json(postJSON, status: 201),
    ])
    let post = try await scene.client.posts.create(PostDraft(title: "Hi"))
    #expect(post.id == 7)
    let keys = scene.transport.requests.map { $0.headers["Idempotency-Key"] }
    #expect(keys.count == 3 && Set(keys).count == 1)
    #expect(try #require(keys[0]).count == 36)
    let sleeps = scene.clock.sleeps
    #expect(sleeps.count == 2)
    #expect(sleeps[0] >= .milliseconds(250) && sleeps[0] <= .milliseconds(500))
    #expect(sleeps[1] >= .seconds(2) && sleeps[1] <= .milliseconds(2200))
  }

  @Test func twoCallsHaveTwoKeys() async throws {
    let scene = Scene([.json(postJSON, status: 201), .json(postJSON, status: 201)])
    for _ in 1...2 { _ = try await scene.client.posts.create(PostDraft(title: "Hi")) }
    #expect(Set(scene.transport.requests.map { $0.headers["Idempotency-Key"] }).count == 2)
  }

  @Test func onlyRoutesThatAcceptAKeyGetOne() async throws {
    let scene = Scene([.status(503), .json(#"{"token":"n3w"}"#, status: 201)])
    _ = try await scene.client.sessions.open(email: "ann@example.org", password: "a password")
    #expect(scene.transport.requests.count == 2)
    #expect(scene.transport.requests.allSatisfy { $0.headers["Idempotency-Key"] == nil })
  }

  @Test func anExportWhoseAnswerWasLostIsRequestedWithTheSameKey() async throws {
    let scene = Scene([.failure(URLError(.networkConnectionLost)), .status(202)])
    try await scene.client.me.requestExport()
    #expect(scene.transport.requests.map(\.url.path) == ["/app/v1/me/export", "/app/v1/me/export"])
    let keys = Set(scene.transport.requests.map { $0.headers["Idempotency-Key"] })
    #expect(keys.count == 1 && keys.first != .some(nil))
  }

  @Test func attemptsAreBounded() async throws {
    let scene = Scene(Array(repeating: .status(503), count: 9))
    let error = await #expect(throws: FanmillError.self) { _ = try await scene.client.me.profile() }
    #expect(error?.status == 503 && error?.code.rawValue == "http_503")
    #expect(scene.transport.requests.count == 4)
    let bounds: [Duration] = [.milliseconds(500), .seconds(1), .seconds(2)]
    for (sleep, bound) in zip(scene.clock.sleeps, bounds) { #expect(sleep >= bound / 2 && sleep <= bound) }
  }

  @Test func aLongRetryAfterIsTheCallers() async throws {
    let scene = Scene([.problem(429, "rate_limited", headers: ["retry-after": "540"])])
    let error = await #expect(throws: FanmillError.self) {
      _ = try await scene.client.hearts.give(CelebAccount(.instagram, "ann"))
    }
    #expect(error?.code == .rateLimited && error?.retryAfter == .seconds(540))
    #expect(scene.transport.requests.count == 1 && scene.clock.sleeps.isEmpty)
    let soon = Scene([.problem(429, "heart_too_soon", headers: ["retry-after": "3"])])
    await #expect(throws: FanmillError.self) { try await soon.client.hearts.give(CelebAccount(.instagram, "ann")) }
    #expect(soon.transport.requests.count == 1)
  }

  @Test func aSettingIsNoShortage() async throws {
    let scene = Scene([.problem(503, "agreements_off")])
    let error = await #expect(throws: FanmillError.self) { _ = try await scene.client.agreements.templates() }
    #expect(error?.code == .agreementsOff)
    #expect(scene.transport.requests.count == 1)
  }

  @Test func whatARepetitionHarmsIsSentOnce() async throws {
    let scene = Scene([.failure(URLError(.timedOut)), .status(503)])
    let error = await #expect(throws: FanmillError.self) {
      _ = try await scene.client.agreements.backup.open(proof: Data(count: 32))
    }
    #expect(error?.code == .timedOut)
    await #expect(throws: FanmillError.self) {
      _ = try await scene.client.agreements.backup.open(proof: Data(count: 32))
    }
    #expect(scene.transport.requests.count == 2)
    #expect(scene.transport.requests[0].headers["Idempotency-Key"] == nil)
  }

  @Test func aChangeThatMayHaveHappenedIsNotRepeated() async throws {
    let scene = Scene([
      .problem(503, "busy", headers: ["retry-after": "2"]), .problem(503, "unavailable", headers: ["retry-after": "2"]),
      .status(204),
    ])
    let error = await #expect(throws: FanmillError.self) {
      try await scene.client.me.changePassword(from: "a", to: "b")
    }
    #expect(error?.code == .unavailable && scene.transport.requests.count == 2)
  }

  @Test func anUploadWithATokenIsRepeatedWithTheSameKey() async throws {
    let token = try JSONDecoder().decode(UploadToken.self, from: Data(#"{"token":"up","expiresIn":900}"#.utf8))
    let scene = Scene([.failure(URLError(.networkConnectionLost)), .status(500)])
    await #expect(throws: FanmillError.self) { _ = try await scene.client.media.upload(Data([1]), with: token) }
    #expect(scene.transport.requests.map { $0.headers["Upload-Token"] } == ["up", "up"])
    let keys = Set(scene.transport.requests.map { $0.headers["Idempotency-Key"] })
    #expect(keys.count == 1 && keys.first != .some(nil))
  }

  @Test func aDeletionWhoseAnswerWasLostIsDone() async throws {
    let scene = Scene([.failure(URLError(.networkConnectionLost)), .problem(404, "not_found")])
    try await scene.client.posts.delete(7)
    let account = Scene([.status(504), .problem(401, "not_signed_in")])
    #expect(try await account.client.me.delete(password: "a") == .done)
    let first = Scene([.problem(404, "not_found")])
    await #expect(throws: FanmillError.self) { try await first.client.posts.delete(7) }
  }

  @Test func cancellationEndsACall() async throws {
    let scene = Scene([.silence])
    let call = Task { try await scene.client.me.profile() }
    while scene.transport.requests.isEmpty { await Task.yield() }
    call.cancel()
    await #expect(throws: CancellationError.self) { _ = try await call.value }
    #expect(scene.transport.requests.count == 1)
  }
}
