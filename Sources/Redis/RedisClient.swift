import EventLoop
import Logging

/// A client with one connection that all tasks share and that comes back by itself.
///
/// Keep `run()` running beside the tasks that send: it connects, and connects again with growing, jittered pauses when the
/// server goes away. Commands that were on their way then fail with `.connection` and are never sent again silently.
/// Commands sent while there is no connection wait for one, at most `connectTimeout`.
public final class RedisClient: RedisCommandSender {
  public let loop: EventLoop
  public let configuration: RedisConfiguration
  private let supervisor: RedisSupervisor
  private let logger: Logger

  public init(configuration: RedisConfiguration, loop: EventLoop, logger: Logger) {
    self.configuration = configuration
    self.loop = loop
    self.logger = logger
    supervisor = RedisSupervisor(configuration: configuration, loop: loop)
  }

  /// Keeps the client connected until the task is cancelled; then closes it for good.
  public func run() async {
    var logger = logger
    logger[metadataKey: "redis"] = "\(configuration.displayName)"
    var backoff = Backoff()
    while !Task.isCancelled {
      do throws(RedisError) {
        let connection = try await RedisConnection.connect(configuration, loop: loop)
        let since = ContinuousClock.now
        await supervisor.attach(connection)
        logger.info("connected to Redis")
        let reason = await connection.waitUntilClosed()
        if Task.isCancelled { break }
        await supervisor.connectionFailed(reason)
        // A server that accepts and hangs up at once is not well: its attempts count as one series.
        if ContinuousClock.now - since > .seconds(1) { backoff.reset() }
        logger.warning("lost the connection to Redis", metadata: ["error": "\(reason)"])
      } catch {
        if Task.isCancelled { break }
        await supervisor.connectionFailed(error)
        logger.warning("cannot connect to Redis", metadata: ["error": "\(error)"])
      }
      do {
        try await Task.sleep(for: backoff.next())
      } catch {
        break
      }
    }
    await supervisor.finish()
  }

  /// A connection of its own, for commands that block. It does not come back when lost; the caller closes it.
  ///
  /// - Parameter commandTimeout: the limit for each reply; longer than the longest block.
  public func dedicatedConnection(commandTimeout: Duration) async throws(RedisError) -> RedisConnection {
    var configuration = configuration
    configuration.commandTimeout = commandTimeout
    return try await RedisConnection.connect(configuration, loop: loop)
  }

  public nonisolated(nonsending) func send<Output: Sendable>(
    _ command: RedisCommand, timeout: Duration?,
    decode: @escaping @Sendable (borrowing RedisReply) throws(RedisError) -> Output
  ) async throws(RedisError) -> Output {
    try await supervisor.perform(RedisSingleRequest(command, timeout: timeout, decode: decode))
  }

  public nonisolated(nonsending) func send<Output: Sendable>(
    pipeline commands: [RedisCommand], timeout: Duration?,
    decode: @escaping @Sendable (borrowing RedisReply) throws(RedisError) -> Output
  ) async throws(RedisError) -> [Result<Output, RedisError>] {
    if commands.isEmpty { return [] }
    return try await supervisor.perform(RedisPipelineRequest(commands, timeout: timeout, decode: decode))
  }
}
