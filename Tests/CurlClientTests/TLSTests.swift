import HTTPTypes
import TestSupport
import Testing

@testable import CurlClient

/// Serialized: `openssl s_server` serves one connection at a time and takes a while to start.
@Suite("TLS", .timeLimit(.minutes(2)), .serialized)
struct TLSTests {
  private func withServer(_ body: (OpenSSLServer) async throws -> Void) async throws {
    let server = try OpenSSLServer(["-HTTP"]) { port in
      // It serves no other client while one keeps its connection.
      func redirect(_ place: String) -> String {
        "HTTP/1.1 302 Found\r\nConnection: close\r\nContent-Length: 0\r\nLocation: \(place)\r\n\r\n"
      }
      return [
        "page": "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
        "again": redirect("https://localhost:\(port)/page"), "loop": redirect("https://localhost:\(port)/loop"),
        "down": redirect("http://localhost:\(port)/page"),
      ]
    }
    do {
      // Any response shows that it is listening.
      try await withClient { client in
        try await eventually { await client.failure(request("/page", server))?.code != .connection }
      }
      try await body(server)
    } catch {
      try server.stop()
      throw error
    }
    try server.stop()
  }

  private func request(_ path: String, _ server: OpenSSLServer) -> HTTPRequest {
    get(path, port: server.port, scheme: "https", host: "localhost")
  }

  @Test func certificatesAndRedirects() async throws {
    try await withServer { server in
      // Not signed by an authority that the system knows.
      try await withClient { client in
        let error = await client.failure(request("/page", server))
        #expect(error?.code == .tls && error?.message.contains("certificate") == true)
      }
      try await withClient {
        $0.certificateAuthorities = server.certificate
        $0.maximumRedirects = 3
      } _: { client in
        let (response, bytes) = try await client.send(request("/page", server))
        #expect(response.status == .ok && bytes == Array("hello".utf8))
        // The certificate is for another name.
        let other = get("/page", port: server.port, scheme: "https")
        let refused = await client.failure(other)
        #expect(refused?.code == .tls, "\(String(describing: refused))")

        let (_, redirected) = try await client.send(request("/again", server))
        #expect(redirected == Array("hello".utf8))
        for path in ["/loop", "/down"] {
          let error = await #expect(throws: HTTPClientError.self) { _ = try await client.send(request(path, server)) }
          #expect(error?.code == .redirect, "\(String(describing: error))")
        }
        #expect(await client.transfers.counts.transfers == 0)
      }
      // A redirect from http to https.
      let plain = try ScriptedServer.answering(
        "HTTP/1.1 301 Moved\r\nLocation: https://localhost:\(server.port)/page\r\nContent-Length: 0\r\n\r\n")
      defer { plain.stop() }
      try await withClient {
        $0.certificateAuthorities = server.certificate
      } _: { client in
        let (response, bytes) = try await client.send(get(port: plain.port))
        #expect(response.status == .ok && bytes == Array("hello".utf8))
        #expect(response.headerFields[.location] == nil)
      }
    }
  }

  @Test func authoritiesThatAreNotThere() async throws {
    try await withClient {
      $0.certificateAuthorities = "/nowhere/authorities.pem"
    } _: { client in
      #expect(await client.failure(get(port: 1, scheme: "https"))?.code != nil)
    }
  }

  /// A server that accepts the connection and then stays silent does not count as connected.
  @Test func aHandshakeWithoutAnswer() async throws {
    let server = try ScriptedServer { $0.waitForHangUp() }
    defer { server.stop() }
    try await withClient {
      $0.connectTimeout = .milliseconds(50)
    } _: { client in
      #expect(await client.failure(get(port: server.port, scheme: "https"))?.code == .connection)
    }
  }

  @Test func noTLSAtAll() async throws {
    let server = try ScriptedServer { connection in
      connection.write("HTTP/1.1 400 Bad Request\r\n\r\n")
      connection.waitForHangUp()
    }
    defer { server.stop() }
    try await withClient { client in
      #expect(await client.failure(get(port: server.port, scheme: "https"))?.code == .tls)
    }
  }

  /// All requests are open at the same time, and `s_server` accepts only one connection: they share it.
  @Test func http2CarriesManyAtOnce() async throws {
    let server = try OpenSSLServer(["-alpn", "h2"])
    let frames = HTTP2Responder(server, holdingUntil: 32)
    frames.start()
    do {
      try await withClient {
        $0.certificateAuthorities = server.certificate
      } _: { client in
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<32 {
            group.addTask {
              while true {
                try Task.checkCancellation()
                do throws(HTTPClientError) {
                  let (response, bytes) = try await client.send(request("/\(number)", server))
                  #expect(response.status == .ok && bytes == Array("ok".utf8))
                  return
                } catch {
                  // Not listening yet.
                  guard error.code == .connection else { throw error }
                  try await Task.sleep(for: .milliseconds(5))
                }
              }
            }
          }
          try await group.waitForAll()
        }
        // The connection is still usable.
        let (_, bytes) = try await client.send(request("/last", server))
        #expect(bytes == Array("ok".utf8))
      }
    } catch {
      try server.stop()
      throw error
    }
    try server.stop()
    #expect(frames.streams == 33)
  }
}
