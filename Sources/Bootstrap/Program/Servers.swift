import DurableJobs
import DurableJobsPostgres
import HiredisClient
import LibPQClient
import Logging
import Reactor

/// Connections to both servers.
public struct Servers: Sendable {
  public let redis: RedisClient
  public let postgres: PostgresPool
  /// For reads that may be a second old: the replica if it exists and is healthy, else `postgres`.
  public let reads: PostgresReads

  /// The database with the queue's tables.
  public var database: JobsDatabase { JobsDatabase(pool: postgres) }
}

extension Program {
  /// Connects to both servers, runs `body`, and disconnects afterwards.
  ///
  /// - Parameters:
  ///   - sessionName: names the sessions in Postgres; the program's name if nil.
  ///   - pool: the number of pooled Postgres connections; nil for the configured number.
  ///   - usesReplica: whether reads may go to a replica instead of the primary.
  /// - Throws: ``SettingsError`` for a URL that is missing or unusable, ``ServerUnreachable``, and any error that
  ///   `body` throws.
  public func withServers<Result: Sendable>(
    sessionName: String? = nil, pool: Int? = nil, usesReplica: Bool = true,
    _ body: @escaping @Sendable (Servers) async throws -> Result
  ) async throws -> Result {
    // Both URLs are parsed before connecting, so that an invalid one is reported immediately.
    _ = try settings.redisConfiguration()
    _ = try settings.postgresReplicaConfiguration()
    return try await withPostgres(sessionName: sessionName, pool: pool) { postgres in
      try await withReads(postgres, usesReplica: usesReplica) { reads in
        try await withRedis { redis in
          try await body(Servers(redis: redis, postgres: postgres, reads: reads))
        }
      }
    }
  }

  /// Provides replica reads. The replica is optional: until it is available, reads go to the primary.
  public func withReads<Result: Sendable>(
    _ primary: PostgresPool, usesReplica: Bool = true,
    _ body: @escaping @Sendable (PostgresReads) async throws -> Result
  ) async throws -> Result {
    guard usesReplica, let configuration = try settings.postgresReplicaConfiguration() else {
      return try await body(PostgresReads(primary: primary, logger: logger))
    }
    let loop = EventLoop(name: "fanmill-replica")
    defer { loop.stop() }
    // Beyond this wait, the primary serves a caller better.
    let pool = PostgresPool(
      configuration: tuned(configuration, nil), size: settings.postgresPool, waitLimit: .milliseconds(250), loop: loop,
      logger: logger)
    let reads = PostgresReads(primary: primary, replica: pool, logger: logger)
    return try await whileRunning({ await pool.run() }) {
      try await whileRunning({ await reads.run() }) { try await body(reads) }
    }
  }

  /// Connects to Redis only.
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
      try await reach("Redis at \(server)", .redisURL) { _ = try await client.send(.echo) }
      return try await body(client)
    }
  }

  /// Connects to Postgres only.
  public func withPostgres<Result: Sendable>(
    sessionName: String? = nil, pool size: Int? = nil,
    _ body: @escaping @Sendable (PostgresPool) async throws -> Result
  ) async throws -> Result {
    let configuration = tuned(try settings.postgresConfiguration(), sessionName)
    let loop = EventLoop(name: "fanmill-pg")
    defer { loop.stop() }
    let pool = PostgresPool(
      configuration: configuration, size: size ?? settings.postgresPool, waitLimit: .seconds(5), loop: loop,
      logger: logger)
    return try await whileRunning({ await pool.run() }) {
      // From the start, this process takes its timestamps from Postgres's clock.
      try await reach("Postgres", .postgresURL) { _ = try await LedgerClock.measure(pool) }
      guard isCommand else { return try await body(pool) }
      return try await whileAnswering(pool) { try await body(pool) }
    }
  }

  /// Runs `body`, and stops it when Postgres stops responding: the statement timeout is too long for a terminal.
  /// Commands shorter than a second have no overhead.
  private func whileAnswering<Result: Sendable>(
    _ pool: PostgresPool, _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    try await withThrowingTaskGroup(of: Result.self) { group in
      group.addTask { try await body() }
      group.addTask { [limit = settings.requestTimeout] in
        let probe = PostgresProbe(pool)
        var answered = ContinuousClock.now
        while true {
          try await Task.sleep(for: min(.seconds(1), limit))
          do {
            _ = try await Deadline.$current.withValue(Deadline(after: limit)) { try await probe.query("SELECT 1") }
            answered = .now
          } catch let error as PostgresError where error.code != .cancelled {
            // A server error is still a response.
            if error.code == .server { answered = .now }
          }
          if .now - answered >= limit {
            throw ServerUnreachable(
              server: "Postgres", setting: .postgresURL, reason: "no answer within \(limit)")
          }
        }
      }
      defer { group.cancelAll() }
      guard let result = try await group.next() else { throw CancellationError() }
      return result
    }
  }

  private func tuned(_ configuration: PostgresConfiguration, _ sessionName: String?) -> PostgresConfiguration {
    var configuration = configuration
    configuration.applicationName = sessionName ?? name
    // A stopped command does not wait long for a server that may be down.
    if isCommand { configuration.cancelTimeout = .seconds(1) }
    // Statements here are short or read much of an index, so compiling them costs more than it saves (135 ms for one
    // chunk of a feed). Options in the URL come later and win.
    configuration.settings["options"] = "-c jit=off " + (configuration.settings["options"] ?? "")
    return configuration
  }

  /// Runs `body` beside `client`, and cancels and awaits `client` when `body` ends.
  private func whileRunning<Result: Sendable>(
    _ client: @escaping @Sendable () async -> Void, _ body: () async throws -> Result
  ) async throws -> Result {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await client() }
      defer { group.cancelAll() }
      return try await body()
    }
  }

  /// Retries until the server responds; fails immediately if waiting cannot help, such as for a wrong password.
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

  /// The reason why a server was unreachable, and whether a retry is pointless.
  private static func reason(of error: any Error) -> (text: String, isFinal: Bool) {
    switch error {
    case let error as RedisError: (error.message, error.code == .configuration)
    case let error as PostgresError: (error.message, error.code == .configuration || error.isRefusal)
    default: ("\(error)", false)
    }
  }
}

/// A server that does not respond.
struct ServerUnreachable: Error, CustomStringConvertible {
  let server: String
  let setting: Setting
  let reason: String

  var description: String { "cannot reach \(server) (set by \(setting.variable)): \(reason)" }
}
