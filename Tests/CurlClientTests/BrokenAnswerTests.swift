import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import CurlClient

@Suite("Broken answers", .timeLimit(.minutes(2)))
struct BrokenAnswerTests {
  private static let head = "HTTP/1.1 200 OK\r\n"

  enum Seen: CaseIterable { case inTheHead, atTheEnd, inAChunk, whenDecompressed }

  private static func tooLarge(_ seen: Seen) -> [UInt8] {
    let body = String(repeating: "x", count: 4097)
    switch seen {
    case .inTheHead: return Array((head + "Content-Length: 5000\r\n\r\n").utf8)
    case .atTheEnd: return Array((head + "\r\n\(body)").utf8)
    case .inAChunk: return Array((head + "Transfer-Encoding: chunked\r\n\r\n1001\r\n\(body)").utf8)
    case .whenDecompressed:
      let zeros = Data(base64Encoded: packedZeros) ?? Data()
      return Array((head + "Content-Encoding: gzip\r\n\r\n").utf8) + zeros
    }
  }

  /// 65,536 zeros in 83 bytes.
  private static let packedZeros =
    "H4sIAAAAAAACA+3BAQEAAACAkP6v7ggKAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAauuOl9cAAAEA"

  @Test(arguments: [
    ("nothing", ""),
    ("a cut-off head", "HTTP/1.1 200 OK\r\nContent-Le"),
    ("a head without its end", head + "Content-Length: 0\r\n"),
    ("a line that is no field", head + "no field\r\nContent-Length: 0\r\n\r\n"),
    ("a cut-off body", head + "Content-Length: 10\r\n\r\n12345"),
    ("a cut-off chunk", head + "Transfer-Encoding: chunked\r\n\r\nff\r\n{\"items\":"),
    ("no last chunk", head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"),
    ("a chunk without a size", head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"),
    ("no HTTP", "220 mail.example.org ESMTP\r\n"),
    ("a status of eight digits", "HTTP/2 12345678 OK\r\nContent-Length: 0\r\n\r\n"),
    ("a negative status", "HTTP/2 -5 OK\r\nContent-Length: 0\r\n\r\n"),
    ("a length that is no number", head + "Content-Length: many\r\n\r\n12345"),
    ("gzip that is none", head + "Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\n12345"),
    ("gzip that is cut off", head + "Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\u{1F}"),
    ("an unknown encoding", head + "Content-Encoding: zip\r\nContent-Length: 5\r\n\r\n12345"),
  ])
  func whatIsBroken(_ name: String, _ answer: String) async throws {
    let server = try ScriptedServer.answering(answer)
    defer { server.stop() }
    try await withClient { client in
      let error = await client.failure(get("/v3/search", port: server.port))
      #expect(error?.code == .transfer, "\(name): \(String(describing: error))")
      #expect(error?.message.hasPrefix("GET http://127.0.0.1:\(server.port)/v3/search: ") == true)
      #expect(await client.transfers.counts.transfers == 0)
      #expect(await client.transfers.counts.sockets == 0)
    }
  }

  @Test func aReset() async throws {
    let server = try ScriptedServer { connection in
      _ = connection.readRequest()
      connection.write(Self.head + "Content-Length: 10\r\n\r\n123")
      connection.reset()
    }
    defer { server.stop() }
    try await withClient { client in
      #expect(await client.failure(get(port: server.port))?.code == .transfer)
    }
  }

  @Test(arguments: Seen.allCases)
  func tooLargeABody(_ seen: Seen) async throws {
    let server = try ScriptedServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.write(Self.tooLarge(seen))
      // The client must not wait for more.
      connection.waitForHangUp()
    }
    defer { server.stop() }
    try await withClient {
      $0.maximumBodyBytes = 4096
    } _: { client in
      #expect(await client.failure(get(port: server.port))?.code == .bodyTooLarge)
    }
  }

  @Test func exactlyAtTheLimit() async throws {
    let body = String(repeating: "x", count: 4096)
    let server = try ScriptedServer.answering(Self.head + "Content-Length: 4096\r\n\r\n" + body)
    defer { server.stop() }
    try await withClient {
      $0.maximumBodyBytes = 4096
    } _: { client in
      let (_, bytes) = try await client.send(get(port: server.port))
      #expect(bytes == Array(body.utf8))
    }
  }

  @Test func aHeadWithoutEnd() async throws {
    let server = try ScriptedServer { connection in
      guard connection.readRequest() != nil, connection.write(Self.head) else { return }
      var number = 0
      while connection.write("X-Field-\(number): \(String(repeating: "x", count: 500))\r\n") { number += 1 }
    }
    defer { server.stop() }
    try await withClient { client in
      let error = await client.failure(get(port: server.port))
      #expect(error?.code == .transfer && error?.message.contains("head") == true)
    }
  }

  @Test func silence() async throws {
    let server = try ScriptedServer { connection in
      _ = connection.readRequest()
      connection.waitForHangUp()
    }
    defer { server.stop() }
    try await withClient {
      $0.stallTimeout = .milliseconds(30)
    } _: { client in
      #expect(await client.failure(get(port: server.port))?.code == .stalled)
    }
    try await withClient {
      $0.timeout = .milliseconds(30)
    } _: { client in
      #expect(await client.failure(get(port: server.port))?.code == .timeout)
    }
  }

  @Test func silenceInTheMiddle() async throws {
    let server = try ScriptedServer { connection in
      _ = connection.readRequest()
      connection.write(Self.head + "Content-Length: 10\r\n\r\n123")
      connection.waitForHangUp()
    }
    defer { server.stop() }
    try await withClient {
      $0.stallTimeout = .milliseconds(30)
    } _: { client in
      #expect(await client.failure(get(port: server.port))?.code == .stalled)
    }
  }

  @Test func aTrickle() async throws {
    let server = try ScriptedServer { connection in
      _ = connection.readRequest()
      connection.write(Self.head + "Content-Length: 1000000\r\n\r\n")
      while connection.write("x"), !connection.hangsUp(within: 5) {}
    }
    defer { server.stop() }
    try await withClient {
      $0.timeout = .milliseconds(200)
    } _: { client in
      #expect(await client.failure(get(port: server.port))?.code == .timeout)
    }
  }

  /// The limit includes the wait for one of the few allowed connections.
  @Test func theWaitForAConnectionCounts() async throws {
    let server = try ScriptedServer { connection in
      _ = connection.readRequest()
      connection.waitForHangUp()
    }
    defer { server.stop() }
    try await withClient {
      $0.connectionsPerHost = 1
      $0.timeout = .milliseconds(100)
    } _: { client in
      await withTaskGroup(of: HTTPClientError?.self) { group in
        for _ in 0..<8 { group.addTask { await client.failure(get(port: server.port)) } }
        for await error in group { #expect(error?.code == .timeout) }
      }
      #expect(await client.transfers.counts.transfers == 0)
    }
  }

  @Test(arguments: ["http://127.0.0.1:1/", "ftp://127.0.0.1/x", "file:///etc/passwd", "gopher://127.0.0.1:1/x"])
  func redirectsToAnythingButHTTPS(_ place: String) async throws {
    let server = try ScriptedServer.answering(
      "HTTP/1.1 302 Found\r\nLocation: \(place)?from=QUERY-SECRET\r\nContent-Length: 0\r\n\r\n")
    defer { server.stop() }
    try await withClient { client in
      #expect(await client.failure(get(port: server.port))?.code == .redirect)
    }
    try await withClient {
      $0.maximumRedirects = 0
    } _: { client in
      let (response, _) = try await client.send(get(port: server.port))
      #expect(response.status == .found && response.headerFields[.location]?.hasPrefix(place) == true)
    }
  }

  @Test func nobodyListens() async throws {
    let server = try ScriptedServer.answering("")
    server.stop()
    try await withClient { client in
      let error = await client.failure(get(port: server.port))
      #expect(error?.code == .connection && error?.message.contains("Connection refused") == true)
    }
  }

  @Test func aNameWithoutAnAddress() async throws {
    try await withClient { client in
      // A label longer than a name may have, so that no name server has to be asked.
      let host = String(repeating: "x", count: 64) + ".invalid"
      #expect(await client.failure(get(port: 80, host: host))?.code == .nameNotResolved)
    }
  }
}
