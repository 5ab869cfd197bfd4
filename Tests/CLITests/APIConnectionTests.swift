import DurableJobsAdmin
import Foundation
import HiredisClient
import LibPQClient
import LocalStack
import PrivateServers
import ProgramTestSupport
import TestSupport
import Testing

/// An API opens as many connections as the documentation says, however many requests wait for the database.
@Suite("An API's connections", .timeLimit(.minutes(3)))
struct APIConnectionTests {
  @Test("Requests wait for the pool; health checks, the watch and events have a session each, and Redis one connection")
  func underLoad() async throws {
    try await TestStack.with { stack in
      try await stack.pool.execute("INSERT INTO accounts (username) VALUES ('ann')")
      let token = try #require(try await CLI(stack)("accounts", "token", "ann", "--json").fields()["token"] as? String)
      let (port, pool) = (try FreePort.find(), 3)
      let api = try BuiltProgram("fanmill-api").start(
        environment: stack.settings.merging([
          "FANMILL_API_PORT": "\(port)", "FANMILL_POSTGRES_POOL": "\(pool)", "FANMILL_REQUEST_TIMEOUT": "60s",
        ]) { $1 })
      defer { api.send(SIGKILL) }
      try await eventually("the API is ready") { LoopbackHTTP(port: port).isReady() }
      let holder = try await PostgresConnection.connect(
        try PostgresConfiguration(url: stack.postgresURL), loop: .tests, logger: .quiet)
      try await holder.execute("BEGIN")
      try await holder.execute("LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE")
      // Each waits to read its caller's session from the table.
      let requests = try (0..<4 * pool).map { _ in
        try OpenStream(port: port, "/v1/me", "Authorization: Bearer \(token)", reads: true)
      }
      try await eventually("each connection of the pool waits for the table") {
        try await sessions(stack, "wait_event_type = 'Lock'") == pool
      }
      try await eventually("the watch, the health checks and events have their sessions") {
        try await sessions(stack, "true") == pool + 3
      }
      let list = try await stack.redisClient.send(RedisCommand("CLIENT", "LIST")).text ?? ""
      #expect(list.split(separator: "\n").count { $0.contains(" name=fanmill-api ") } == 1)
      await holder.close()
      // Requests that waited too long for the pool are asked to retry.
      for request in requests {
        try await eventually("it is answered") { request.received.hasPrefix("HTTP/1.1 ") }
      }
      #expect(try await sessions(stack, "true") == pool + 3)
    }
  }

  private func sessions(_ stack: TestStack, _ condition: String) async throws -> Int {
    try await stack.count(
      """
      SELECT count(*) FROM pg_stat_activity WHERE application_name = 'fanmill-api' AND datname = current_database()
        AND \(unescaped: condition)
      """)
  }
}
