import HiredisClient
import Logging
import Reactor

extension EventLoop {
  /// One loop serves all tests of a process.
  public static let tests = EventLoop(name: "test-loop")
}

extension Logger {
  /// Logs nothing: tests assert on behavior, not on log lines.
  public static var quiet: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}

/// Runs `body` with a client of the Redis at `url`.
///
/// - Parameter commandTimeout: overrides the usual one, where a test waits for commands to fail.
public func withRedisClient<Result: Sendable>(
  url: String, commandTimeout: Duration? = nil, _ body: @Sendable (RedisClient) async throws -> Result
) async throws -> Result {
  var configuration = try RedisConfiguration(url: url)
  if let commandTimeout { configuration.commandTimeout = commandTimeout }
  let client = RedisClient(configuration: configuration, loop: .tests, logger: .quiet)
  return try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask { await client.run() }
    defer { group.cancelAll() }
    return try await body(client)
  }
}
