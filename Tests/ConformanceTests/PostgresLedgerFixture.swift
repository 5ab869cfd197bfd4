import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient
import Logging
import PrivateServers
import Reactor
import TestSupport

/// A ledger in a database of its own.
struct PostgresLedgerFixture: Sendable {
  let ledger: PostgresLedger
  let pool: PostgresPool
  let url: String

  /// The files of `migrations/` that the queue needs, whatever the app is.
  static let migrations = [
    "0001_jobs.sql", "0008_schedules.sql", "0016_operations.sql", "0017_job_hours.sql", "0022_traces.sql",
    "0025_counted_reports.sql", "0035_process_clocks.sql", "0036_job_refusals.sql",
    "0037_worker_connections.sql",
  ]

  static func with<Result: Sendable>(
    _ body: @Sendable (PostgresLedgerFixture) async throws -> Result
  ) async throws -> Result {
    let template = try await SharedServers.template("jobs_ledger") { url in
      let server = try await SharedServers.postgres()
      let database = url.prefix { $0 != "?" }.split(separator: "/").last.map(String.init) ?? ""
      for file in migrations {
        let path = URL(filePath: #filePath).appending(path: "../../../migrations/\(file)").standardizedFileURL
        let text = try String(contentsOf: path, encoding: .utf8)
        // Everything above this line of the file makes the tables.
        try await server.run(text.components(separatedBy: "-- down").first ?? "", database: database)
      }
    }
    let url = try await SharedServers.freshDatabase(template: template)
    let pool = PostgresPool(
      configuration: try PostgresConfiguration(url: url), size: 10, waitLimit: .seconds(60), loop: .tests,
      logger: .quiet)
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await pool.run() }
      defer { group.cancelAll() }
      return try await body(PostgresLedgerFixture(ledger: PostgresLedger(pool: pool), pool: pool, url: url))
    }
  }
}
