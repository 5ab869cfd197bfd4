import Foundation
import Testing

@testable import FanmillClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct EventTests {
  private static let text = """
    \u{FEFF}retry: 3000
    : listening

    id: 1-2
    event: message
    data: {"id":5,"username":"김민지","own":false,"text":"hi","createdAt":"2026-11-27T10:00:00.000Z"}

    event: likes
    data: {"postId":7,
    data: "likes":1,"comments":2}

    id: 1-3
    event: brand-new
    data: {}


    """

  private func check(_ events: [EventParser.Event]) {
    #expect(events.map(\.name) == ["message", "likes", "brand-new"])
    #expect(events.map(\.lastID) == ["1-2", "1-2", "1-3"])
    #expect(events.map(\.hasID) == [true, false, true])
    guard events.count == 3, case .message(let message) = StreamEvent(events[0]).kind else {
      Issue.record("no message")
      return
    }
    #expect(message.username == "김민지" && !message.own)
    #expect(StreamEvent(events[1]).kind == .counts(StreamEvent.Counts(postId: 7, likes: 1, comments: 2)))
    #expect(StreamEvent(events[2]).kind == .other(name: "brand-new", data: "{}"))
  }

  @Test(arguments: ["\n", "\r\n", "\r"]) func chunksMayEndAnywhere(_ end: String) throws {
    let bytes = Array(Self.text.replacing("\n", with: end).utf8)
    for size in [1, 2, 3, 7, 64, bytes.count] {
      var parser = EventParser()
      var events: [EventParser.Event] = []
      for start in stride(from: 0, to: bytes.count, by: size) {
        events += try parser.feed(Data(bytes[start..<min(start + size, bytes.count)]))
      }
      check(events)
      #expect(parser.retry == .seconds(3) && parser.lastID == "1-3")
    }
  }

  @Test func anUnfinishedEventHasNoID() throws {
    var parser = EventParser(lastID: "1")
    #expect(try parser.feed(Data("id: 2\ndata: x\n".utf8)).isEmpty)
    #expect(parser.lastID == "1")
    #expect(try parser.feed(Data("\n".utf8)).count == 1)
    #expect(parser.lastID == "2")
  }

  @Test func anEndlessLineIsRefused() throws {
    var parser = EventParser()
    #expect(throws: FanmillError.self) { _ = try parser.feed(Data(count: 2 << 20)) }
  }

  private static func chunk(_ id: String, unread: Int) -> Data {
    Data("id: \(id)\nevent: checked\ndata: {\"unread\":\(unread)}\n\n".utf8)
  }

  @Test func aLostStreamResumes() async throws {
    let opening = Data("retry: 3000\n: listening\n\n".utf8)
    let scene = Scene([
      .stream(
        [opening, Self.chunk("a", unread: 1), Data("id: b\nevent: checked".utf8)],
        failure: URLError(.networkConnectionLost)),
      .failure(URLError(.cannotConnectToHost)), .status(503), .stream([opening, Self.chunk("b", unread: 2)]),
      .problem(401, "not_signed_in"),
    ])
    var events: [StreamEvent] = []
    let error = await #expect(throws: FanmillError.self) {
      for try await event in scene.client.events.stream(posts: [3, 4]) { events.append(event) }
    }
    #expect(error?.code == .notSignedIn)
    #expect(
      events.map(\.kind) == [
        .connected(resumed: false), .checked(unread: 1), .connected(resumed: true), .checked(unread: 2),
      ])
    #expect(events.map(\.id) == [nil, "a", "a", "b"])
    #expect(scene.transport.requests.map { $0.headers["Last-Event-ID"] } == [nil, "a", "a", "a", "b"])
    #expect(scene.transport.requests.allSatisfy { $0.url.query == "posts=3%2C4" })
    // Growing with each failure, small again after events.
    let bounds: [Duration] = [.seconds(3), .seconds(6), .seconds(12), .seconds(3)]
    #expect(scene.clock.sleeps.count == bounds.count)
    for (sleep, bound) in zip(scene.clock.sleeps, bounds) { #expect(sleep >= bound / 2 && sleep <= bound) }
  }

  @Test func aStoredIDIsContinued() async throws {
    let scene = Scene([.stream([]), .problem(401, "not_signed_in")])
    var events = scene.client.events.stream(after: "old").makeAsyncIterator()
    #expect(try await events.next()?.kind == .connected(resumed: true))
    #expect(scene.transport.requests.first?.headers["Last-Event-ID"] == "old")
  }

  @Test func aStreamThatNeverOpensSaysWhy() async throws {
    let scene = Scene(Array(repeating: .failure(URLError(.cannotConnectToHost)), count: 9))
    var events = scene.client.events.stream().makeAsyncIterator()
    let error = await #expect(throws: FanmillError.self) { _ = try await events.next() }
    #expect(error?.code == .network && scene.transport.requests.count == 4)
  }

  @Test func aStreamTooManyIsRefusedAtOnce() async throws {
    let scene = Scene([.problem(429, "too_many_streams", headers: ["retry-after": "60"])])
    var events = scene.client.events.stream().makeAsyncIterator()
    let error = await #expect(throws: FanmillError.self) { _ = try await events.next() }
    #expect(error?.code == .tooManyStreams && scene.clock.sleeps.isEmpty)
  }

  @Test func cancellationEndsAStream() async throws {
    let scene = Scene([.stream([Self.chunk("a", unread: 1)]), .silence])
    let seen = Noted<StreamEvent.Kind>()
    let listening = Task {
      for try await event in scene.client.events.stream() { seen.note(event.kind) }
    }
    while scene.transport.requests.count < 2 { await Task.yield() }
    listening.cancel()
    try await listening.value
    #expect(seen.values == [.connected(resumed: false), .checked(unread: 1)])
  }
}
