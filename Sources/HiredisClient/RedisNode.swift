import Locking
import Logging
import Reactor

/// A supervised, reconnecting connection to one server, or to the current master.
final class RedisNode: Sendable {
  let supervisor: RedisSupervisor
  private let configuration: RedisConfiguration
  private let pauseLimit: Duration
  private let locate: @Sendable () async throws(RedisError) -> RedisConfiguration
  private let routes: RouteGeneration
  private let onTrouble: @Sendable () -> Void
  private let loop: EventLoop
  private let logger: Logger
  private let trouble = Locked(false)

  /// Whether the connection is lost or could not be made.
  var isTroubled: Bool { trouble.withLock { $0 } }

  /// - Parameters:
  ///   - configuration: names the server in messages.
  ///   - pauseLimit: the longest pause between two attempts to connect.
  ///   - routes: advances with each connection.
  ///   - locate: finds the server to connect to, before each attempt.
  ///   - onTrouble: called when the connection is lost or could not be made.
  init(
    _ configuration: RedisConfiguration, loop: EventLoop, logger: Logger, pauseLimit: Duration = .seconds(2),
    routes: RouteGeneration, locate: @escaping @Sendable () async throws(RedisError) -> RedisConfiguration,
    onTrouble: @escaping @Sendable () -> Void = {}
  ) {
    self.configuration = configuration
    self.pauseLimit = pauseLimit
    self.routes = routes
    self.locate = locate
    self.onTrouble = onTrouble
    self.loop = loop
    var logger = logger
    logger[metadataKey: "redis"] = "\(configuration.displayName)"
    self.logger = logger
    supervisor = RedisSupervisor(configuration: configuration, loop: loop)
  }

  /// Keeps the node connected until the task is cancelled; then closes it permanently.
  ///
  /// - Parameter end: the error for commands that are still waiting then.
  func run(end: @Sendable () -> RedisError) async {
    var backoff = Backoff(limit: pauseLimit)
    while !Task.isCancelled {
      do throws(RedisError) {
        let place = try await locate()
        let connection = try await RedisConnection.connect(place, loop: loop)
        let since = ContinuousClock.now
        routes.advance()
        await supervisor.attach(connection)
        trouble.withLock { $0 = false }
        logger.info("connected to Redis", metadata: ["server": "\(place.endpoint)"])
        let reason = await connection.waitUntilClosed()
        if Task.isCancelled { break }
        await supervisor.connectionFailed(reason)
        // A server that accepts and immediately hangs up is unhealthy: such attempts count as one series.
        if ContinuousClock.now - since > .seconds(1) { backoff.reset() }
        logger.warning("lost the connection to Redis", metadata: ["error": "\(reason)"])
      } catch {
        if Task.isCancelled { break }
        await supervisor.connectionFailed(error)
        logger.warning("cannot connect to Redis", metadata: ["error": "\(error)"])
      }
      trouble.withLock { $0 = true }
      onTrouble()
      do {
        try await Task.sleep(for: backoff.next())
      } catch {
        break
      }
    }
    await supervisor.finish(with: end())
  }
}
