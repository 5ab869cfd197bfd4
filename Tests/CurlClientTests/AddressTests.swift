import Foundation
import HTTPTypes
import Locking
import TestSupport
import Testing

@testable import CurlClient

@Suite("Addresses that a client may not connect to, and bodies that it cuts off", .timeLimit(.minutes(2)))
struct AddressTests {
  private static let loopback: @Sendable ([UInt8]) -> Bool = {
    $0.first == 127 || $0 == [UInt8](repeating: 0, count: 15) + [1]
  }

  @Test func aRefusedAddressGetsNothing() async throws {
    let server = try ScriptedServer.answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    defer { server.stop() }
    for host in ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "[::ffff:127.0.0.1]"] {
      try await withClient { configuration in
        configuration.allowsAddress = { address in
          let isMapped = address.count == 16 && Array(address.suffix(4)).first == 127
          return !isMapped && !Self.loopback(address)
        }
      } _: { client in
        let error = await client.failure(get(port: server.port, host: host))
        #expect(error?.code == .forbiddenAddress, "\(host): \(String(describing: error))")
      }
    }
    #expect(server.accepted == 0)
  }

  @Test func anAllowedAddressIsReached() async throws {
    let server = try ScriptedServer.answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    defer { server.stop() }
    let seen = Locked<[[UInt8]]>([])
    try await withClient { configuration in
      configuration.allowsAddress = { address in
        seen.withLock { $0.append(address) }
        return true
      }
    } _: { client in
      let (response, body) = try await client.send(get(port: server.port))
      #expect(response.status == .ok && body == Array("ok".utf8))
    }
    #expect(seen.withLock { $0 } == [[127, 0, 0, 1]])
  }

  /// A name that led to an allowed address when it was looked up first leads to another at the next connection.
  @Test func aNameThatChangesItsAddressGainsNothing() async throws {
    let server = try ScriptedServer.answering("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
    defer { server.stop() }
    let answers = Locked(["127.0.0.2", "127.0.0.1", "127.0.0.1,127.0.0.2"])
    try await withClient { configuration in
      configuration.resolvesName = { _ in
        let next = answers.withLock { $0.isEmpty ? "127.0.0.1" : $0.removeFirst() }
        return next.split(separator: ",").map(String.init)
      }
      // Stands for a public address.
      configuration.allowsAddress = { $0 == [127, 0, 0, 2] }
      configuration.connectTimeout = .seconds(10)
    } _: { client in
      let first = await client.failure(get(port: server.port, host: "hooks.example.org"))
      // The server listens on 127.0.0.1 alone: the allowed address was tried and refused the connection.
      #expect(first?.code == .connection, "\(String(describing: first))")
      let second = await client.failure(get(port: server.port, host: "hooks.example.org"))
      #expect(second?.code == .forbiddenAddress, "\(String(describing: second))")
      let third = await client.failure(get(port: server.port, host: "hooks.example.org"))
      #expect(third != nil)
    }
    #expect(server.accepted == 0)
  }

  @Test func aRedirectToARefusedAddressIsNotFollowed() async throws {
    let inner = try ScriptedServer.answering("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret")
    defer { inner.stop() }
    let location = "http://127.0.0.1:\(inner.port)/"
    let server = try ScriptedServer.answering(
      "HTTP/1.1 302 Found\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n")
    defer { server.stop() }
    try await withClient {
      $0.maximumRedirects = 0
    } _: { client in
      let (response, _) = try await client.send(get(port: server.port))
      #expect(response.status == .found)
    }
    #expect(inner.accepted == 0)
  }

  @Test func aLongBodyIsCutOff() async throws {
    let long = String(repeating: "x", count: 1_000_000)
    for head in ["Content-Length: \(long.utf8.count)", "Connection: close"] {
      let server = try ScriptedServer.answering("HTTP/1.1 200 OK\r\n\(head)\r\n\r\n\(long)")
      defer { server.stop() }
      try await withClient { configuration in
        configuration.cutsBodies = true
        configuration.maximumBodyBytes = 1024
      } _: { client in
        let (response, body) = try await client.send(get(port: server.port))
        #expect(response.status == .ok && body == Array(repeating: UInt8(ascii: "x"), count: 1024))
      }
    }
  }

  @Test func aShortBodyIsWhole() async throws {
    let server = try ScriptedServer.answering("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope")
    defer { server.stop() }
    try await withClient { configuration in
      configuration.cutsBodies = true
      configuration.maximumBodyBytes = 4
    } _: { client in
      let (response, body) = try await client.send(get(port: server.port))
      #expect(response.status == .notFound && body == Array("nope".utf8))
    }
  }
}
