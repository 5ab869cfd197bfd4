import DurableJobsAdmin
import Foundation
import LibPQClient
import Logging
import PrivateServers
import Reactor

/// A private Postgres with a database of the latest schema and a private Redis: the base of the local stack and the
/// demo.
public struct LocalServers: Sendable {
  public let postgres: PrivatePostgres
  public let redis: PrivateRedis

  private static let database = "fanmill"

  public var postgresURL: String { postgres.url(database: Self.database) }
  public var redisURL: String { redis.url }

  /// Starts both and creates the database if it is missing.
  ///
  /// - Parameter folder: the folder of their data; nil for a temporary one that is removed with them.
  public static func start(in folder: String?) async throws -> LocalServers {
    let postgres = try await PrivatePostgres.start(in: folder.map { $0 + "/postgres" }, options: .durable)
    var options = PrivateRedis.Options()
    options.appendOnly = true
    let redis: PrivateRedis
    do {
      redis = try await PrivateRedis.start(in: folder.map { $0 + "/redis" }, options: options)
      if try await postgres.run("SELECT 1 FROM pg_database WHERE datname = '\(database)'").isEmpty {
        try await postgres.run("CREATE DATABASE \(database)")
      }
    } catch {
      await postgres.stop()
      throw error
    }
    return LocalServers(postgres: postgres, redis: redis)
  }

  /// Stops both gracefully; their data is on disk.
  public func stop() async {
    await redis.stop()
    await postgres.stop()
  }

  /// Provides database connections to `body`.
  public func withPool<Result: Sendable>(
    logger: Logger, _ body: (PostgresPool) async throws -> Result
  ) async throws -> Result {
    try await Self.withPool(url: postgresURL, logger: logger, body)
  }

  /// Provides connections to the database of a running stack to `body`.
  static func withPool<Result: Sendable>(
    url: String, logger: Logger, _ body: (PostgresPool) async throws -> Result
  ) async throws -> Result {
    let loop = EventLoop(name: "fanmill-local")
    defer { loop.stop() }
    let pool = PostgresPool(
      configuration: try PostgresConfiguration(url: url), size: 4, loop: loop, logger: logger)
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await pool.run() }
      defer { group.cancelAll() }
      return try await body(pool)
    }
  }
}
