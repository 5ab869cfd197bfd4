import Foundation
import Testing

@testable import FanmillClient

/// What a URL session does, against the stack at `FANMILL_TEST_URL`.
@Suite(.enabled(if: LiveStack.url != nil), .timeLimit(.minutes(5))) struct LiveTransportTests {
  @Test func nobodyListens() async throws {
    let client = FanmillClient(url: try #require(URL(string: "http://127.0.0.1:9")), retries: .none)
    let error = await #expect(throws: FanmillError.self) { _ = try await client.me.profile() }
    #expect(error?.code == .network && error?.status == nil)
  }

  @Test func manyAtOnce() async throws {
    let (ann, name) = try await LiveStack.account("ann")
    let names = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 1...60 { group.addTask { try await ann.me.profile().username } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(names == Array(repeating: name, count: 60))
  }
}
