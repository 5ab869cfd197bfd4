import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import HiredisClient
import LibPQClient
import Logging
import Migrations
import PrivateServers
import Reactor
import TestSupport

/// A database with the schema and a Redis, neither shared with another test, and clients of both.
public struct TestStack: Sendable {
  public let postgresURL: String
  /// The stack's own Redis; idle if `redisURL` names others.
  public let redis: PrivateRedis
  public let redisURL: String
  public let pool: PostgresPool
  public let redisClient: RedisClient
  public let broker: RedisBroker

  /// The database with the queue's tables.
  public var database: JobsDatabase { JobsDatabase(pool: pool) }
  public var ledger: PostgresLedger { PostgresLedger(database) }
  public var client: JobClient<RedisBroker, PostgresLedger> {
    JobClient(broker: broker, ledger: ledger, logger: .quiet)
  }

  /// The settings that point a program at this stack.
  public var settings: [String: String] {
    [
      "FANMILL_POSTGRES_URL": postgresURL, "FANMILL_REDIS_URL": redisURL, "FANMILL_MEDIA_DIR": mediaFolder,
    ]
  }

  /// The programs' folder for pictures.
  public let mediaFolder: String

  /// The project's folder of migrations.
  public static let migrations =
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../migrations").path

  /// Runs `body` with a fresh database of the tests' shared cluster, or of `server`.
  ///
  /// - Parameters:
  ///   - postgresURL: the URL of `server` if it includes a standby.
  ///   - redisURL: sentinels or a cluster, instead of the stack's own Redis.
  public static func with<Result: Sendable>(
    server: PrivatePostgres? = nil, postgresURL: String? = nil,
    redis options: PrivateRedis.Options = PrivateRedis.Options(), redisURL: String? = nil,
    _ body: @Sendable (TestStack) async throws -> Result
  ) async throws -> Result {
    let url: String
    if let server {
      url = postgresURL ?? server.url
      try await withPool(url) { try await migrate($0) }
    } else {
      url = try await emptyDatabase(template: true)
    }
    let redis = try await PrivateRedis.start(options: options)
    let redisURL = redisURL ?? redis.url
    let client = RedisClient(
      configuration: try RedisConfiguration(url: redisURL), loop: .tests, logger: .quiet)
    let result = try await withPool(url) { pool in
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await client.run() }
        defer { group.cancelAll() }
        let broker = try await RedisBroker(client: client, logger: .quiet)
        let media = NSTemporaryDirectory() + "fanmill-media-\(UUID().uuidString)"
        let result = try await body(
          TestStack(
            postgresURL: url, redis: redis, redisURL: redisURL, pool: pool, redisClient: client, broker: broker,
            mediaFolder: media))
        // Created by the programs that need it.
        if FileManager.default.fileExists(atPath: media) { try FileManager.default.removeItem(atPath: media) }
        return result
      }
    }
    if server == nil { try await SharedServers.drop(url) }
    return result
  }

  /// The URL of a fresh database.
  ///
  /// - Parameter template: whether it has the schema.
  public static func emptyDatabase(template: Bool = false) async throws -> String {
    guard template else { return try await SharedServers.freshDatabase() }
    let name = try await SharedServers.template("programs") { url in
      try await withPool(url) { try await migrate($0) }
    }
    return try await SharedServers.freshDatabase(template: name)
  }

  private static func migrate(_ pool: PostgresPool) async throws {
    try await DatabaseMigrator(Migration.all(in: migrations), pool: pool).up()
    // The template cannot be copied while a session that made it is open.
    try await eventually("the pool is at rest") { await pool.usage().leased == 0 }
  }

  public static func withPool<Result: Sendable>(
    _ url: String, _ body: @Sendable (PostgresPool) async throws -> Result
  ) async throws -> Result {
    let pool = PostgresPool(
      configuration: try PostgresConfiguration(url: url), size: 6, waitLimit: .seconds(60), loop: .tests,
      logger: .quiet)
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await pool.run() }
      defer { group.cancelAll() }
      return try await body(pool)
    }
  }

  /// The first column of the first row.
  public func count(_ query: PostgresQuery) async throws -> Int {
    try await pool.query(query)[0].decode(Int.self)
  }
}
