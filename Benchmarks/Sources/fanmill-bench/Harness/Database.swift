import EventLoop
import Foundation
import Logging
import Migrations
import Postgres
import PrivateServers

/// A private Postgres server whose commits survive a power cut, with Fanmill's schema.
struct Database: Sendable {
  let url: String
  /// Its `run()` belongs to the stage.
  let pool: PostgresPool
  private let server: PrivatePostgres

  static func start(loop: EventLoop, logger: Logger) async throws -> Database {
    let server = try await PrivatePostgres.start(options: .durable)
    var configuration = try PostgresConfiguration(url: server.url)
    // Filling the tables takes longer than any statement of a service may.
    configuration.queryTimeout = .seconds(600)
    return Database(
      url: server.url, pool: PostgresPool(configuration: configuration, size: 8, loop: loop, logger: logger),
      server: server)
  }

  func migrate() async throws {
    let places = ["migrations", "../migrations"]
    guard let folder = places.first(where: { FileManager.default.fileExists(atPath: $0) }) else {
      throw BenchError("the migrations are not here: run the benchmark in the project's folder or Benchmarks/")
    }
    try await Migrator(try Migration.all(in: folder), pool: pool).up()
  }

  func count(_ query: PostgresQuery) async throws -> Int {
    guard let count = try await pool.query(query).decode(Int.self).first else { throw BenchError("no count") }
    return count
  }

  func owedJobs() async throws -> Int { try await count("SELECT count(*) FROM jobs") }
}
