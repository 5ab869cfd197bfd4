import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient
import Logging
import PrivateServers
import Reactor
import TestSupport

/// A ledger in its own database.
struct PostgresLedgerFixture: Sendable {
  let ledger: PostgresLedger
  let pool: PostgresPool
  let url: String

  /// The queue's tables are in a schema that only statements naming it can find.
  static let schema = JobsSchema("The \"queue\"")

  /// A table's name, for the tests' statements.
  func table(_ name: String) -> PostgresIdentifier { PostgresIdentifier(name, in: Self.schema.name) }

  static func with<Result: Sendable>(
    _ body: @Sendable (PostgresLedgerFixture) async throws -> Result
  ) async throws -> Result {
    let template = try await SharedServers.template("jobs_ledger") { url in
      _ = try await withPool(url) { try await JobsSchema.migrate($0, schema: schema.name) }
    }
    let url = try await SharedServers.freshDatabase(template: template)
    let result = try await withPool(url) { pool in
      try await body(
        PostgresLedgerFixture(ledger: PostgresLedger(pool: pool, schema: schema), pool: pool, url: url))
    }
    try await SharedServers.drop(url)
    return result
  }

  static func withPool<Result: Sendable>(
    _ url: String, _ body: @Sendable (PostgresPool) async throws -> Result
  ) async throws -> Result {
    let pool = PostgresPool(
      configuration: try PostgresConfiguration(url: url), size: 10, waitLimit: .seconds(60), loop: .tests,
      logger: .quiet)
    let result = try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await pool.run() }
      defer { group.cancelAll() }
      return try await body(pool)
    }
    // A template cannot be copied while it has an open session.
    try await eventually("the pool is at rest") { await pool.usage().leased == 0 }
    return result
  }
}
