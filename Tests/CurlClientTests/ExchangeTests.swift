import Foundation
import HTTPTypes
import Reactor
import TestSupport
import Testing

@testable import CurlClient

@Suite("Requests and responses", .timeLimit(.minutes(2)))
struct ExchangeTests {
  /// The bytes that the server receives for `request`.
  private func received(_ request: (Int) -> HTTPRequest, body: [UInt8] = []) async throws -> String {
    let server = try ScriptedServer { connection in
      while let text = connection.readRequest() { connection.answer(text) }
    }
    defer { server.stop() }
    var text = ""
    try await withClient { client in
      let (response, bytes) = try await client.send(request(server.port), body: body)
      #expect(response.status == .ok)
      text = String(decoding: bytes, as: UTF8.self)
    }
    return text
  }

  @Test func aRequestIsSentAsItIs() async throws {
    let text = try await received { port in
      var request = get("/a/../b%20c?q=%C3%A9&key=K", port: port)
      request.headerFields[.ifNoneMatch] = "\"tag\""
      request.headerFields[.init("X-Empty")!] = ""
      return request
    }
    let lines = text.components(separatedBy: "\r\n")
    #expect(lines.first == "GET /a/../b%20c?q=%C3%A9&key=K HTTP/1.1")
    #expect(lines.contains("If-None-Match: \"tag\""))
    #expect(lines.contains("X-Empty:"))
    #expect(lines.contains("User-Agent: fanmill"))
    #expect(lines.contains { $0.hasPrefix("Accept-Encoding:") && $0.contains("gzip") })
    #expect(!text.contains("Expect") && !text.contains("Content-"))
  }

  @Test func bodiesAreSentWithTheirLength() async throws {
    let large = [UInt8](repeating: UInt8(ascii: "x"), count: 100_000)
    let post = try await received(
      { port in
        var request = get("/", port: port)
        request.method = .post
        request.headerFields[.contentType] = "application/json"
        return request
      }, body: large)
    #expect(post.hasPrefix("POST / HTTP/1.1\r\n"))
    #expect(post.contains("Content-Length: 100000\r\n") && post.contains("Content-Type: application/json\r\n"))
    #expect(post.hasSuffix("\r\n\r\n" + String(decoding: large, as: UTF8.self)))
    for method in [HTTPRequest.Method.put, .patch, .post] {
      let empty = try await received { port in
        var request = get("/", port: port)
        request.method = method
        return request
      }
      #expect(empty.hasPrefix("\(method.rawValue) / HTTP/1.1") && empty.contains("Content-Length: 0\r\n"))
      #expect(!empty.contains("Content-Type"))
    }
    let delete = try await received { port in
      var request = get("/", port: port)
      request.method = .delete
      return request
    }
    #expect(delete.hasPrefix("DELETE / HTTP/1.1") && !delete.contains("Content-Length"))
  }

  @Test(arguments: [200, 304, 400, 404, 429, 500, 503])
  func aStatusIsNoError(_ status: Int) async throws {
    let body = status == 304 ? "" : "{}"
    let server = try ScriptedServer.answering(
      "HTTP/1.1 \(status) Whatever\r\nETag:  \"a b\" \r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n"
        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    defer { server.stop() }
    try await withClient { client in
      let (response, bytes) = try await client.send(get(port: server.port))
      #expect(response.status.code == status)
      #expect(response.headerFields[.eTag] == "\"a b\"")
      #expect(response.headerFields[values: .setCookie] == ["a=1", "b=2"])
      #expect(bytes == Array(body.utf8))
    }
  }

  @Test func aHeadHasNoBody() async throws {
    let server = try ScriptedServer.answering("HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n")
    defer { server.stop() }
    try await withClient { client in
      var request = get(port: server.port)
      request.method = .head
      let (response, bytes) = try await client.send(request)
      #expect(response.headerFields[.contentLength] == "999999999" && bytes.isEmpty)
    }
  }

  @Test func gzipIsTakenApart() async throws {
    let packed = try #require(Data(base64Encoded: "H4sIAAAAAAACA6tWKk6sVLJSykjNyclXqgUAMersXg8AAAA="))
    let server = try ScriptedServer.answering(
      Array("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(packed.count)\r\n\r\n".utf8) + packed)
    defer { server.stop() }
    try await withClient { client in
      let (response, bytes) = try await client.send(get(port: server.port))
      #expect(String(decoding: bytes, as: UTF8.self) == "{\"say\":\"hello\"}")
      #expect(response.headerFields[.contentEncoding] == nil && response.headerFields[.contentLength] == nil)
    }
  }

  @Test func chunksAndInterimResponses() async throws {
    let server = try ScriptedServer.answering(
      "HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Late: 1\r\n\r\n"
        + "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n")
    defer { server.stop() }
    try await withClient { client in
      let (response, bytes) = try await client.send(get(port: server.port))
      #expect(bytes == Array("abcde".utf8))
      #expect(response.headerFields[.init("X-Late")!] == "1" && response.headerFields[.init("X-Early")!] == nil)
    }
  }

  @Test func oneConnectionIsUsedAgain() async throws {
    let server = try ScriptedServer { connection in
      while connection.readRequest() != nil { connection.answer("ok") }
    }
    defer { server.stop() }
    try await withClient { client in
      for _ in 0..<20 { _ = try await client.send(get(port: server.port)) }
      #expect(await client.transfers.counts.idle == 1)
    }
    #expect(server.accepted == 1 && server.requests == 20)
  }

  @Test func aConnectionThatTheServerClosedIsReplaced() async throws {
    let server = try ScriptedServer { connection in
      if connection.readRequest() != nil { connection.answer("ok") }
    }
    defer { server.stop() }
    try await withClient { client in
      for _ in 0..<20 {
        let (_, bytes) = try await client.send(get(port: server.port))
        #expect(bytes == Array("ok".utf8))
      }
    }
    #expect(server.requests == 20)
  }

  @Test func manyAtOnceShareTheirConnections() async throws {
    let server = try ScriptedServer { connection in
      while let text = connection.readRequest() { connection.answer(text.components(separatedBy: " ")[1]) }
    }
    defer { server.stop() }
    try await withClient {
      $0.connectionsPerHost = 8
    } _: { client in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<64 {
          // Every other task runs on the client's own loop.
          group.addTask(executorPreference: number % 2 == 0 ? client.transfers.loop.taskExecutor : nil) {
            for round in 0..<10 {
              let (_, bytes) = try await client.send(get("/\(number)/\(round)", port: server.port))
              #expect(bytes == Array("/\(number)/\(round)".utf8))
            }
          }
        }
        try await group.waitForAll()
      }
      let counts = await client.transfers.counts
      #expect(counts.transfers == 0 && counts.idle <= 64)
    }
    #expect(1...8 ~= server.accepted)
    #expect(server.requests == 640)
  }
}
