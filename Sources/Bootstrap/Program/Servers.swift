import EventLoop
import Jobs
import Logging
import Postgres
import Redis

/// The two servers that everything rests on, connected.
public struct Servers: Sendable {
  public let redis: RedisClient
  public let postgres: PostgresPool
}

extension Program {
  /// Connects to both servers, runs `body`, and disconnects when it has ended.
  ///
  /// - Throws: ``SettingsError`` for a URL that is missing or cannot work, ``ServerUnreachable``, and what `body` throws.
  public func withServers<Result: Sendable>(
    _ body: @escaping @Sendable (Servers) async throws -> Result
  ) async throws -> Result {
    // Both URLs are read before either server is asked, so that a wrong one is seen at once.
    _ = try settings.redisConfiguration()
    return try await withPostgres { postgres in
      try await withRedis { redis in try await body(Servers(redis: redis, postgres: postgres)) }
    }
  }

  /// Connects to Redis alone.
  public func withRedis<Result: Sendable>(
    _ body: @escaping @Sendable (RedisClient) async throws -> Result
  ) async throws -> Result {
    var configuration = try settings.redisConfiguration()
    configuration.clientName = name
    let loop = EventLoop(name: "fanmill-redis")
    defer { loop.stop() }
    let client = RedisClient(configuration: configuration, loop: loop, logger: logger)
    let server = configuration.displayName
    return try await whileRunning({ await client.run() }) {
      try await reach("Redis at \(server)", .redisURL) { _ = try await client.send(RedisCommand("PING")) }
      return try await body(client)
    }
  }

  /// Connects to Postgres alone.
  public func withPostgres<Result: Sendable>(
    _ body: @escaping @Sendable (PostgresPool) async throws -> Result
  ) async throws -> Result {
    var configuration = try settings.postgresConfiguration()
    configuration.applicationName = name
    // Statements here are short or read much of an index: compiling one costs more than it saves (135 ms on a feed's chunk).
    // What the URL says itself comes later and wins.
    configuration.settings["options"] = "-c jit=off " + (configuration.settings["options"] ?? "")
    let loop = EventLoop(name: "fanmill-pg")
    defer { loop.stop() }
    let pool = PostgresPool(
      configuration: configuration, size: settings.postgresPool, waitLimit: .seconds(5), loop: loop, logger: logger)
    return try await whileRunning({ await pool.run() }) {
      try await reach("Postgres", .postgresURL) { _ = try await pool.query("SELECT 1") }
      return try await body(pool)
    }
  }

  /// Runs `body` beside `client`, which is cancelled, and waited for, when `body` has ended.
  private func whileRunning<Result: Sendable>(
    _ client: @escaping @Sendable () async -> Void, _ body: () async throws -> Result
  ) async throws -> Result {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await client() }
      defer { group.cancelAll() }
      return try await body()
    }
  }

  /// Tries until the server answers; gives up at once where waiting cannot help, such as on a wrong password.
  private func reach(_ server: String, _ setting: Setting, _ attempt: () async throws -> Void) async throws {
    let deadline = ContinuousClock.now + patience
    while true {
      do {
        return try await attempt()
      } catch {
        let (reason, isFinal) = Self.reason(of: error)
        if isFinal { throw settings.refusal(of: setting, because: reason) }
        guard ContinuousClock.now < deadline else {
          throw ServerUnreachable(server: server, setting: setting, reason: reason)
        }
        try await Task.sleep(for: .milliseconds(200))
      }
    }
  }

  /// Why a server was not reached, and whether asking again cannot help.
  private static func reason(of error: any Error) -> (text: String, isFinal: Bool) {
    switch error {
    case let error as RedisError: (error.message, error.code == .configuration)
    case let error as PostgresError: (error.message, error.code == .configuration)
    default: ("\(error)", false)
    }
  }
}

/// A server that does not answer.
struct ServerUnreachable: Error, CustomStringConvertible {
  let server: String
  let setting: Setting
  let reason: String

  var description: String { "cannot reach \(server), which \(setting.variable) sets: \(reason)" }
}
