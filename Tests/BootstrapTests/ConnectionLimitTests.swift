import Foundation
import Logging
import NIOCore
import Social
import TestSupport
import Testing

@testable import Bootstrap

/// The time limits of clients, and the limit on connections.
@Suite(.timeLimit(.minutes(2))) struct ConnectionLimitTests {
  private func serving(
    _ limits: ConnectionLimits, _ body: @escaping @Sendable (Int) async throws -> Void
  ) async throws {
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let health = Health(checks: [], registry: PrometheusRegistry(), logger: logger)
    let (ports, running) = AsyncStream.makeStream(of: Int.self)
    let server = health.service(host: "127.0.0.1", port: 0, limits: limits) { running.yield($0) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await server.run() }
      group.addTask {
        for await port in ports {
          try await body(port)
          return
        }
      }
      try await group.next()
      group.cancelAll()
    }
  }

  /// Limits that no test reaches, except those that `change` sets.
  private func limits(_ change: (inout ConnectionLimits) -> Void) -> ConnectionLimits {
    var limits = ConnectionLimits()
    (limits.head, limits.body, limits.idle) = (.seconds(3600), .seconds(3600), .seconds(3600))
    change(&limits)
    return limits
  }

  private static let request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"

  @Test(arguments: ["", "GET /healthz HTTP/1.1\r\nHo", "GET /healthz HTTP/1.1\r\nHost: x\r\nX: y\r\n"])
  func aHeadThatDoesNotArriveEndsTheConnection(sent: String) async throws {
    try await serving(limits { $0.head = .milliseconds(50) }) { port in
      let client = try RawConnection(port: port)
      try client.send(sent)
      let answer = await client.rest()
      #expect(answer.hasPrefix("HTTP/1.1 408 Request Timeout\r\n"))
      #expect(answer.contains(#""code":"request_timeout""#) && answer.contains("the request's head"))
    }
  }

  @Test func aHeadThatBeginsBehindARequestHasNoMoreTime() async throws {
    try await serving(limits { $0.head = .milliseconds(50) }) { port in
      for rest in ["GET", "GET /healthz HTTP/1.1\r\nHost"] {
        let client = try RawConnection(port: port)
        try client.send(Self.request + rest)
        let answers = await client.rest()
        #expect(answers.hasPrefix("HTTP/1.1 200 OK\r\n") && answers.contains("HTTP/1.1 408 Request Timeout"))
      }
    }
  }

  @Test func aBodyThatDoesNotArriveEndsTheConnection() async throws {
    try await serving(limits { $0.body = .milliseconds(50) }) { port in
      let client = try RawConnection(port: port)
      try client.send("POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
      // Nothing reads the body, so the response may have been sent already: the connection ends all the same.
      let answer = await client.rest()
      #expect(answer.hasPrefix("HTTP/1.1 404") || answer.contains("the request's body"))
    }
  }

  @Test func anIdleConnectionEnds() async throws {
    try await serving(limits { $0.idle = .milliseconds(50) }) { port in
      let client = try RawConnection(port: port)
      try client.send(Self.request + Self.request)
      let answers = await client.rest()
      #expect(answers.split(separator: "HTTP/1.1 200 OK").count == 2 && !answers.contains("408"))
    }
  }

  @Test func aClientHasItsShareAndTheServerItsBound() async throws {
    for (limits, status) in [(limits { $0.perClient = 3 }, "429"), (limits { $0.total = 3 }, "503")] {
      try await serving(limits) { port in
        var half = try (0..<3).map { _ in try RawConnection(port: port) }
        for client in half {
          // Connections are counted in no particular order; each of these counts once it is served.
          try client.send(Self.request)
          #expect(await client.answer(endingWith: #"{"status":"alive"}"#).hasPrefix("HTTP/1.1 200 OK"))
          try client.send("GET /healthz HTTP/1.1\r\nHost")
        }
        let refused = await (try RawConnection(port: port)).rest()
        #expect(refused.hasPrefix("HTTP/1.1 \(status) "))
        #expect(refused.contains(#""code":"too_many_connections""#) && refused.contains("\r\nRetry-After: 5\r\n"))
        // Other clients are served if the limit is per client.
        let other = try RawConnection(port: port, from: "127.0.0.2")
        if status == "429" {
          try other.send(Self.request)
          #expect(await other.answer(endingWith: #"{"status":"alive"}"#).hasPrefix("HTTP/1.1 200 OK"))
        }
        // Existing connections are served, and each frees its slot when its client closes it.
        for client in half {
          try client.send(": x\r\nConnection: close\r\n\r\n")
          #expect(await client.rest().hasPrefix("HTTP/1.1 200 OK"))
        }
        half = []
        try await eventually {
          let client = try RawConnection(port: port)
          client.finish()
          return await client.rest().isEmpty
        }
      }
    }
  }

  @Test func placesAreCountedByClient() {
    var limits = ConnectionLimits()
    (limits.total, limits.perClient) = (3, 2)
    let book = ConnectionBook(limits)
    #expect(book.enter("a") == nil && book.enter("a") == nil)
    #expect(book.enter("a") == .tooManyOfClient)
    #expect(book.enter("b") == nil)
    #expect(book.enter("b") == .full)
    book.leave("a")
    #expect(book.enter("a") == nil)
  }

  @Test func aProxyHasConnectionsForAllOfItsClients() async throws {
    let proxies = try TrustedProxies(["127.0.0.2"])
    try await serving(limits { ($0.total, $0.perClient, $0.proxies) = (3, 1, proxies) }) { port in
      let address = "127.0.0.2"
      let clients = try (0..<3).map { _ in try RawConnection(port: port, from: address) }
      for client in clients {
        try client.send(Self.request)
        #expect(await client.answer(endingWith: #"{"status":"alive"}"#).hasPrefix("HTTP/1.1 200 OK"))
      }
      let refused = await (try RawConnection(port: port, from: address)).rest()
      #expect(refused.hasPrefix("HTTP/1.1 503 "))
      withExtendedLifetime(clients) {}
    }
  }

  @Test func connectionsAreCountedUntilTheMemoryThatTheyFreedIsGivenBack() {
    let book = ConnectionBook(ConnectionLimits())
    for _ in 0..<3 { #expect(book.enter("192.0.2.1") == nil) }
    for _ in 0..<2 { book.leave("192.0.2.1") }
    #expect(!book.takeChanged(atLeast: 6), "one is open")
    book.leave("192.0.2.1")
    #expect(book.takeChanged(atLeast: 6))
    #expect(!book.takeChanged(atLeast: 1), "they count once")
  }

  // MARK: The timing alone

  private let start = NIODeadline.uptimeNanoseconds(0)

  private func bytes(_ text: String) -> ByteBufferView { ByteBuffer(string: text).readableBytesView }

  @Test func whatFollowsABodyIsTheNextHead() {
    for (body, rest, delay) in [
      ("{}", "", ConnectionTiming.Delay.idle), ("{\"a\":1}", "", .idle), ("{}", "GET", .head), ("abcdef", "G", .head),
    ] {
      var timing = ConnectionTiming(ConnectionLimits(), connectedAt: start)
      timing.received(bytes("POST / HTTP/1.1\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body + rest), at: start)
      timing.receivedHead(at: start)
      timing.receivedBody(bytes(body))
      timing.receivedEnd(at: start)
      timing.parsed(at: start)
      timing.answered(at: start)
      #expect(timing.next?.delay == delay, "\(body) \(rest)")
    }
  }

  @Test func aClientIsNotLateWithABodyThatTheServerDoesNotTake() {
    var timing = ConnectionTiming(ConnectionLimits(), connectedAt: start)
    timing.receivedHead(at: start)
    #expect(timing.next?.at == start + .seconds(30) && timing.next?.delay == .body)
    timing.stopsAsking(at: start + .seconds(10))
    #expect(timing.next == nil)
    timing.stopsAsking(at: start + .seconds(20))
    timing.asks(at: start + .seconds(50))
    #expect(timing.next?.at == start + .seconds(70) && timing.next?.delay == .body)
    // After the response the body's clock keeps running, whether the server reads or not.
    timing.stopsAsking(at: start + .seconds(60))
    timing.answered(at: start + .seconds(61))
    #expect(timing.next?.at == start + .seconds(71) && timing.next?.delay == .body)
    timing.stopsAsking(at: start + .seconds(62))
    #expect(timing.next?.at == start + .seconds(71))
  }

  @Test func aClientThatReadsNothingIsIdle() {
    var timing = ConnectionTiming(ConnectionLimits(), connectedAt: start)
    timing.received(bytes(Self.request), at: start)
    timing.receivedHead(at: start)
    timing.receivedEnd(at: start)
    timing.parsed(at: start)
    #expect(timing.next == nil, "the answer is the server's to give")
    timing.changedWritability(false, at: start + .seconds(1))
    #expect(timing.next?.at == start + .seconds(76) && timing.next?.delay == .idle)
    timing.changedWritability(true, at: start + .seconds(2))
    #expect(timing.next == nil)
  }
}
