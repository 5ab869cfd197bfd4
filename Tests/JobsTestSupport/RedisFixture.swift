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

  /// Deletes all keys of this broker at once, as a server that loses its memory. Between KEYS and DEL of two commands
  /// a worker could delay a job, and only one of its two keys would go.
  public func forgetEverything() async throws {
    let script = "local keys = redis.call('KEYS', ARGV[1]) if #keys > 0 then redis.call('DEL', unpack(keys)) end"
    _ = try await client.send(RedisCommand("EVAL", script, "0", "\(prefix):*"))
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
