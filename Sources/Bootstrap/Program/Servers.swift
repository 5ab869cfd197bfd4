import DurableJobs
import DurableJobsPostgres
import HiredisClient
import LibPQClient
import Logging
import Reactor

/// The two servers that everything rests on, connected.
public struct Servers: Sendable {
  public let redis: RedisClient
  public let postgres: PostgresPool
  /// For reads that may be a second old: the replica, if there is one and it is well, else `postgres`.
  public let reads: PostgresReads

  /// Where the queue's tables are.
  public var database: JobsDatabase { JobsDatabase(pool: postgres) }
}

extension Program {
  /// Connects to both servers, runs `body`, and disconnects when it has ended.
  ///
  /// - Parameters:
  ///   - sessionName: names the sessions in Postgres, where the program's name will not do.
  ///   - pool: how many connections to Postgres are pooled; nil for as many as the settings say.
  ///   - usesReplica: whether reads may go to a replica; without one all go where the writes go.
  /// - Throws: ``SettingsError`` for a URL that is missing or cannot work, ``ServerUnreachable``, and what `body`
  ///   throws.
  public func withServers<Result: Sendable>(
    sessionName: String? = nil, pool: Int? = nil, usesReplica: Bool = true,
    _ body: @escaping @Sendable (Servers) async throws -> Result
  ) async throws -> Result {
    // Both URLs are read before either server is asked, so that a wrong one is seen at once.
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

  /// Lends a way to read from the replica. It need not be there: until it is, reads go to the primary.
  public func withReads<Result: Sendable>(
    _ primary: PostgresPool, usesReplica: Bool = true,
    _ body: @escaping @Sendable (PostgresReads) async throws -> Result
  ) async throws -> Result {
    guard usesReplica, let configuration = try settings.postgresReplicaConfiguration() else {
      return try await body(PostgresReads(primary: primary, logger: logger))
    }
    let loop = EventLoop(name: "fanmill-replica")
    defer { loop.stop() }
    // Who waits here for longer is better served by the primary.
    let pool = PostgresPool(
      configuration: tuned(configuration, nil), size: settings.postgresPool, waitLimit: .milliseconds(250), loop: loop,
      logger: logger)
    let reads = PostgresReads(primary: primary, replica: pool, logger: logger)
    return try await whileRunning({ await pool.run() }) {
      try await whileRunning({ await reads.run() }) { try await body(reads) }
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
      try await reach("Redis at \(server)", .redisURL) { _ = try await client.send(.echo) }
      return try await body(client)
    }
  }

  /// Connects to Postgres alone.
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
      // From the first moment on, all that this process dates goes by Postgres' clock.
      try await reach("Postgres", .postgresURL) { _ = try await LedgerClock.measure(pool) }
      guard isCommand else { return try await body(pool) }
      return try await whileAnswering(pool) { try await body(pool) }
    }
  }

  /// Runs `body`, and ends it when Postgres stops answering: a statement's own limit is too long for a terminal.
  /// Commands of less than a second cost nothing more.
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
            // A refusal is an answer.
            if error.code == .server { answered = .now }
          }
          if .now - answered >= limit {
            throw ServerUnreachable(
              server: "Postgres", setting: .postgresURL, reason: "it has not answered for \(limit)")
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
    // A command that is ended does not wait long for a server that may not answer.
    if isCommand { configuration.cancelTimeout = .seconds(1) }
    // Statements here are short or read much of an index: compiling one costs more than it saves (135 ms on a feed's
    // chunk). What the URL says itself comes later and wins.
    configuration.settings["options"] = "-c jit=off " + (configuration.settings["options"] ?? "")
    return configuration
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
    case let error as PostgresError: (error.message, error.code == .configuration || error.isRefusal)
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
