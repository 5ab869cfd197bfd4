import DurableJobs
import DurableJobsRedis
import HiredisClient
import Logging
import PrivateServers
import TestSupport

/// A broker on a Redis for tests, with a separate prefix, so that tests can run in parallel.
public struct RedisFixture: Sendable {
  public let broker: RedisBroker
  public let client: RedisClient
  public let prefix: String

  /// Deletes all keys of this broker, as a server that loses its memory.
  public func forgetEverything() async throws {
    let keys = try await client.send(RedisCommand("KEYS", "\(prefix):*")).elements ?? []
    if keys.isEmpty { return }
    var command = RedisCommand("DEL")
    for key in keys { command.append(key.text ?? "") }
    _ = try await client.send(command)
  }

  /// Runs `body` with a broker on `server`, or at `url`, or on the Redis that all tests share.
  ///
  /// - Parameter commandTimeout: overrides the usual one, where a test waits for commands to fail.
  public static func with<Result: Sendable>(
    server: PrivateRedis? = nil, url: String? = nil, prefix: String = "test-\(JobID.next())",
    commandTimeout: Duration? = nil, _ body: @Sendable (RedisFixture) async throws -> Result
  ) async throws -> Result {
    let url = if let url = url ?? server?.url { url } else { try await SharedServers.redis().url }
    return try await withRedisClient(url: url, commandTimeout: commandTimeout) { client in
      let broker = try await RedisBroker(client: client, prefix: prefix, logger: .quiet)
      return try await body(RedisFixture(broker: broker, client: client, prefix: prefix))
    }
  }
}
