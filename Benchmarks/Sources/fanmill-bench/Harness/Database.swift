import LibPQClient
import Logging
import PrivateServers
import Reactor

/// A private Postgres server whose commits survive a power failure.
struct Database: Sendable {
  let url: String
  /// The stage calls its `run()`.
  let pool: PostgresPool
  private let server: PrivatePostgres

  static func start(loop: EventLoop, logger: Logger) async throws -> Database {
    let server = try await PrivatePostgres.start(options: .durable)
    var configuration = try PostgresConfiguration(url: server.url)
    // Filling the tables takes longer than a service's statements may.
    configuration.queryTimeout = .seconds(600)
    return Database(
      url: server.url, pool: PostgresPool(configuration: configuration, size: 8, loop: loop, logger: logger),
      server: server)
  }

  func count(_ query: PostgresQuery) async throws -> Int {
    guard let count = try await pool.query(query).decode(Int.self).first else { throw BenchError("no count") }
    return count
  }

  func pendingJobs() async throws -> Int { try await count("SELECT count(*) FROM jobs.jobs") }
}
