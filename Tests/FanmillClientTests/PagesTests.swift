import Foundation
import Testing

@testable import FanmillClient

@Suite struct PagesTests {
  private static let pages: [ScriptedTransport.Step] = [
    .json(#"{"items":[\#(post(9)),\#(post(8))],"next":8}"#), .json(#"{"items":[],"next":5}"#),
    .json(#"{"items":[\#(post(3))],"next":null}"#),
  ]

  @Test func elementsComeAcrossPages() async throws {
    let scene = Scene(Self.pages)
    var ids: [Int] = []
    for try await post in scene.client.feed.following(includesOwn: true, limit: 2) { ids.append(post.id) }
    #expect(ids == [9, 8, 3])
    #expect(
      scene.transport.requests.map(\.url.query) == [
        "own=true&limit=2", "own=true&before=8&limit=2", "own=true&before=5&limit=2",
      ])
  }

  @Test func aPageIsFetchedWhenItIsWanted() async throws {
    let scene = Scene(Self.pages)
    var posts = scene.client.feed.home().makeAsyncIterator()
    #expect(scene.transport.requests.isEmpty)
    #expect(try await posts.next()?.id == 9)
    #expect(try await posts.next()?.id == 8)
    #expect(scene.transport.requests.count == 1)
  }

  @Test func onePageAndItsCursor() async throws {
    let scene = Scene(Self.pages)
    let first = try await scene.client.feed.home().page()
    #expect(first.items.map(\.id) == [9, 8] && first.next == PageCursor(rawValue: 8))
    _ = try await scene.client.feed.home().page(after: first.next)
    #expect(scene.transport.requests.last?.url.query == "before=8")
  }

  @Test func timesHaveTheirFractions() async throws {
    let scene = Scene(Self.pages)
    let post = try #require(try await scene.client.feed.home().page().items.first)
    #expect(abs(post.createdAt.timeIntervalSince1970 - 1_795_773_600.125) < 0.0005)
  }
}
