import Foundation
import PrivateServers
import Reactor
import TestSupport
import Testing

@testable import HiredisClient

/// An encrypted connection to a real server if the build has TLS; the refusal if it does not.
@Suite(.timeLimit(.minutes(2))) struct TLSTests {
  /// A Redis that accepts only TLS on its port, with its own certificate for `localhost`.
  private func withServer(_ body: (_ url: String, _ folder: String) async throws -> Void) async throws {
    let folder = NSTemporaryDirectory() + "fanmill-tls-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let status = try await ServerProcess.run(
      ServerProcess.Plan(
        program: "/usr/bin/openssl",
        arguments: [
          "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
          "\(folder)/key.pem", "-out", "\(folder)/cert.pem", "-days", "2", "-subj", "/CN=localhost", "-addext",
          "subjectAltName=DNS:localhost",
        ], log: "\(folder)/openssl.log", folder: folder))
    #expect(status == 0)
    let port = try FreePort.find()
    var options = PrivateRedis.Options()
    options.settings = [
      "tls-port": "\(port)", "tls-cert-file": "\(folder)/cert.pem", "tls-key-file": "\(folder)/key.pem",
      "tls-ca-cert-file": "\(folder)/cert.pem", "tls-auth-clients": "no",
    ]
    let server = try await PrivateRedis.start(options: options)
    try await body("rediss://localhost:\(port)", folder)
    await server.stop()
  }

  @Test(.enabled(if: RedisTLS.isAvailable)) func carriesSmallAndLargeRepliesOfManyTasks() async throws {
    try await withServer { url, folder in
      try await withClient(try patient("\(url)?ca=\(folder)/cert.pem")) { client in
        let large = [UInt8]((0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try await client.send(RedisCommand("SET", "large", large))
        try await withThrowingTaskGroup(of: Void.self) { group in
          for task in 0..<20 {
            group.addTask(executorPreference: task % 2 == 0 ? client.loop.taskExecutor : nil) { () async throws in
              for number in 0..<100 {
                #expect(try await client.send(RedisCommand("ECHO", "\(task)-\(number)")).text == "\(task)-\(number)")
              }
            }
          }
          for _ in 0..<4 {
            group.addTask {
              let reply = try await client.send(RedisCommand("GET", "large"))
              #expect(reply.bytes == large)
            }
          }
          try await group.waitForAll()
        }
        let connection = try await client.dedicatedConnection(commandTimeout: .seconds(60))
        let reply = try await connection.send(RedisCommand("BLPOP", "nothing", 0.2))
        #expect(reply.isNull)
        await connection.close()
      }
    }
  }

  @Test(.enabled(if: RedisTLS.isAvailable)) func trustsNobodyUnasked() async throws {
    try await withServer { url, folder in
      for (url, part) in [
        (url, "certificate is refused: self-signed"),
        (
          url.replacing("localhost", with: "127.0.0.1") + "?ca=\(folder)/cert.pem", "certificate is refused: IP address"
        ),
      ] {
        var configuration = try RedisConfiguration(url: url)
        configuration.connectTimeout = .seconds(1)
        try await withClient(configuration) { client async throws in
          let error = await redisError { () throws(RedisError) in try await client.send(RedisCommand("PING")) }
          #expect(error?.code == .connection)
          #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
        }
      }
      for (query, part) in [
        ("ca=/no/such.pem", "/no/such.pem cannot be read"), ("cert=\(folder)/cert.pem", "needs its key"),
        ("cert=\(folder)/key.pem&key=\(folder)/key.pem", "key.pem cannot be read"), ("certt=x", "not take \"certt\""),
      ] {
        let error = #expect(throws: RedisError.self) { try RedisConfiguration(url: "rediss://h?\(query)") }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
      }
    }
  }

  @Test(.enabled(if: RedisTLS.isAvailable)) func aServerThatDiesIsSurvived() async throws {
    try await withServer { url, folder in
      try await withClient(try patient("\(url)?ca=\(folder)/cert.pem")) { client async throws in
        for _ in 0..<5 {
          // The first command may have been in flight when the connection closed.
          try await eventually {
            await redisError { () throws(RedisError) in try await client.send(RedisCommand("PING")) } == nil
          }
          _ = await redisError { () throws(RedisError) in
            try await client.send(RedisCommand("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no"))
          }
        }
        try await eventually {
          await redisError { () throws(RedisError) in try await client.send(RedisCommand("PING")) } == nil
        }
      }
    }
  }

  @Test(.enabled(if: !RedisTLS.isAvailable)) func isRefusedWhereTheLibraryHasNone() {
    for url in ["rediss://h", "rediss://user:secret@h:6380/1?ca=/x"] {
      let error = #expect(throws: RedisError.self) { try RedisConfiguration(url: url) }
      #expect(error?.code == .configuration)
      for part in [
        "TLS", "hiredis \(hiredisVersion)", "build it with hiredis 1.0 or later", "use redis:// to a TLS tunnel",
      ] {
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
      }
      #expect(error?.message.contains("secret") == false)
    }
  }
}
