import Foundation
import HiredisClient
import Logging
import PrivateServers
import Reactor
import TestSupport
import Testing

/// Runs `body` with its own server and a client whose `run()` is running.
func withRedis(
  _ options: PrivateRedis.Options = .init(), configure: (inout RedisConfiguration) -> Void = { _ in },
  _ body: @Sendable (PrivateRedis, RedisClient) async throws -> Void
) async throws {
  let server = try await PrivateRedis.start(options: options)
  var configuration = try patient(server.url)
  configure(&configuration)
  try await withClient(configuration) { try await body(server, $0) }
  await server.stop()
}

/// A configuration whose limits no slow machine reaches; a test of a limit sets it.
func patient(_ url: String) throws(RedisError) -> RedisConfiguration {
  var configuration = try RedisConfiguration(url: url)
  configuration.connectTimeout = .seconds(60)
  configuration.commandTimeout = .seconds(60)
  return configuration
}

/// Runs `body` with a client whose `run()` is running; the caller provides the server.
func withClient(
  _ configuration: RedisConfiguration, _ body: @Sendable (RedisClient) async throws -> Void
) async throws {
  let loop = EventLoop()
  let client = RedisClient(configuration: configuration, loop: loop, logger: .quiet)
  try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask { await client.run() }
    do {
      try await body(client)
    } catch {
      group.cancelAll()
      throw error
    }
    group.cancelAll()
  }
  loop.stop()
}

/// The error that `body` throws.
func redisError(_ body: () async throws(RedisError) -> some Any) async -> RedisError? {
  do throws(RedisError) {
    _ = try await body()
    return nil
  } catch {
    return error
  }
}
