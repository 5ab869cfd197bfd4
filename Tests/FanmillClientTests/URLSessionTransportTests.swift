import Foundation
import Testing

@testable import FanmillClient

@Suite(.timeLimit(.minutes(1))) struct URLSessionTransportTests {
  private func client(_ server: SocketServer) -> FanmillClient {
    FanmillClient(
      url: server.url, session: Session(token: "t"),
      retries: RetryPolicy(firstDelay: .milliseconds(1), longestDelay: .seconds(1)))
  }

  /// A URL session that repeats the request on its own would send it without its body.
  @Test func aRequestOnADeadConnectionIsRepeatedWhole() async throws {
    let server = try SocketServer { number, _ in number == 1 ? nil : SocketServer.response(201, postJSON) }
    let client = client(server)
    for title in ["one", "two"] { _ = try await client.posts.create(PostDraft(title: title)) }
    let requests = server.requests
    #expect(requests.count == 3)
    #expect(requests.allSatisfy { $0.header("content-length") == String($0.body.count) && !$0.body.isEmpty })
    #expect(requests[1].body == requests[2].body)
    #expect(requests[1].header("idempotency-key") == requests[2].header("idempotency-key"))
    #expect(requests[0].header("idempotency-key") != requests[1].header("idempotency-key"))
  }

  @Test func aRequestOnceIsOnceOnADeadConnection() async throws {
    let server = try SocketServer { number, _ in
      number == 0 ? SocketServer.response(200, #"{"locked":"AAAA","secret":"AAAA"}"#) : nil
    }
    let backup = client(server).agreements.backup
    _ = try await backup.open(proof: Data(count: 32))
    let error = await #expect(throws: FanmillError.self) { _ = try await backup.open(proof: Data(count: 32)) }
    #expect(error?.code == .network && server.requests.count == 2)
  }

  @Test func requestsWithoutABodyShareAConnection() async throws {
    let server = try SocketServer { _, _ in SocketServer.response(204) }
    let client = client(server)
    for _ in 1...5 { try await client.likes.add(7) }
    #expect(Set(server.requests.map(\.connection)) == [0])
    #expect(server.requests.allSatisfy { $0.header("authorization") == "Bearer t" })
  }

  @Test func redirectsAreLeftToTheClient() async throws {
    let server = try SocketServer { _, request in
      request.head.hasPrefix("PUT /v1/users/old/")
        ? SocketServer.response(
          308, #"{"code":"moved","detail":"d"}"#,
          headers: ["Location": "/v1/users/new/follow", "Content-Type": "application/problem+json"])
        : SocketServer.response(204)
    }
    try await client(server).users.follow("old")
    #expect(
      server.requests.map { $0.head.split(separator: " ")[1] } == ["/v1/users/old/follow", "/v1/users/new/follow"])
    #expect(server.requests[1].header("authorization") == "Bearer t")
  }

  @Test func aStreamComesAsItIsSent() async throws {
    let server = try SocketServer { _, _ in
      // Without a length: the body goes on until the connection ends, which this one does not.
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nid: a\nevent: checked\ndata: {\"unread\":1}\n\n"
    }
    var events = client(server).events.stream().makeAsyncIterator()
    #expect(try await events.next()?.kind == .connected(resumed: false))
    let event = try await events.next()
    #expect(event?.kind == .checked(unread: 1) && event?.id == "a")
  }

  @Test func anUnreadStreamEndsOrWaits() async throws {
    // More than is read ahead.
    let text = String(repeating: "x", count: 4 * Exchange.streamLimit)
    let server = try SocketServer { _, _ in SocketServer.response(200, text) }
    let stream = try await URLSessionTransport().stream(TransportRequest(method: "GET", url: server.url))
    var read = 0
    do {
      for try await chunk in stream.body {
        read += chunk.count
        // Slower than the server.
        for _ in 1...1000 { await Task.yield() }
      }
      #expect(read == text.utf8.count)
    } catch {
      #expect(read > Exchange.streamLimit && read < text.utf8.count)
    }
  }

  @Test func aWholeBodyHasNoLimit() async throws {
    let text = String(repeating: "x", count: 4 * Exchange.streamLimit)
    let server = try SocketServer { _, _ in SocketServer.response(200, text) }
    let response = try await URLSessionTransport().send(TransportRequest(method: "GET", url: server.url))
    #expect(response.body.count == text.utf8.count)
  }

  @Test func aSilentServerTimesOut() async throws {
    let server = try SocketServer { _, _ in "" }
    let request = TransportRequest(method: "GET", url: server.url, timeout: .seconds(1))
    let error = await #expect(throws: (any Error).self) { _ = try await URLSessionTransport().send(request) }
    #expect(FanmillError.network(try #require(error)).code == .timedOut)
  }

  @Test func cancellationEndsARequest() async throws {
    let server = try SocketServer { _, _ in "" }
    let call = Task { try await client(server).me.profile() }
    while server.requests.isEmpty { await Task.yield() }
    call.cancel()
    await #expect(throws: CancellationError.self) { _ = try await call.value }
  }
}
