import Foundation
import JobsTestSupport
import LibPQClient
import Logging
import Migrations
import PrivateServers
import TestSupport

/// Starting databases for the schema's tests.
enum TestDatabase {
  /// Runs `body` on an empty database.
  static func empty<Result: Sendable>(
    connections: Int = 8, _ body: @Sendable (PostgresPool) async throws -> Result
  ) async throws -> Result {
    try await withPool(try await SharedServers.freshDatabase(), connections: connections, body)
  }

  /// Runs `body` on a database as the last version without a separate schema for the queue left it.
  static func former<Result: Sendable>(
    connections: Int = 8, _ body: @Sendable (PostgresPool) async throws -> Result
  ) async throws -> Result {
    try await withPool(try await formerURL(), connections: connections, body)
  }

  static func formerURL() async throws -> String {
    let template = try await SharedServers.template("former") { url in
      _ = try await withPool(url, connections: 2) { try await migrator($0).up(to: lastFormer) }
    }
    return try await SharedServers.freshDatabase(template: template)
  }

  /// The number of that version's last migration.
  static let lastFormer = 37

  static func migrations() throws -> [Migration] {
    let folder = URL(filePath: #filePath).appending(path: "../../../migrations").standardizedFileURL.path
    return try Migration.all(in: folder)
  }

  static func migrator(_ pool: PostgresPool) throws -> Migrator { Migrator(try migrations(), pool: pool) }

  static func withPool<Result: Sendable>(
    _ url: String, user: String? = nil, connections: Int = 8,
    _ body: @Sendable (PostgresPool) async throws -> Result
  ) async throws -> Result {
    let url = user.map { url.replacing("postgres@", with: "\($0)@") } ?? url
    let pool = PostgresPool(
      configuration: try PostgresConfiguration(url: url), size: connections, waitLimit: .seconds(60),
      loop: .tests, logger: .quiet)
    let result = try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await pool.run() }
      defer { group.cancelAll() }
      return try await body(pool)
    }
    // The database cannot be copied while it has an open session.
    try await eventually("the pool is at rest") { await pool.usage().leased == 0 }
    return result
  }
}

extension PostgresPool {
  /// The first column of the first row.
  func count(_ query: PostgresQuery) async throws -> Int { try await self.query(query)[0].decode(Int.self) }

  /// A schema's tables according to the catalogs, without the schema's name: columns in order, defaults, constraints,
  /// indexes, storage options, sequences.
  func catalog(_ schema: String) async throws -> [String] {
    let lines = try await query(
      """
      WITH tables AS (
        SELECT pg_class.* FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
        WHERE nspname = \(schema) AND relname <> 'schema_versions'
      )
      SELECT format('relation %s %s %s %s', relname, relkind, relpersistence, reloptions) FROM tables
        WHERE relkind <> 'i' AND relname <> 'schema_versions_pkey'
      UNION ALL SELECT format('column %s %s %s %s notnull %s default %s identity %s storage %s',
          relname, row_number() OVER (PARTITION BY relname ORDER BY attnum), attname, format_type(atttypid, atttypmod),
          attnotnull, pg_get_expr(adbin, adrelid), attidentity, attstorage)
        FROM tables JOIN pg_attribute ON attrelid = tables.oid AND attnum > 0 AND NOT attisdropped
        LEFT JOIN pg_attrdef ON adrelid = tables.oid AND adnum = attnum WHERE relkind = 'r'
      UNION ALL SELECT format('constraint %s %s %s', relname, conname, pg_get_constraintdef(pg_constraint.oid))
        FROM tables JOIN pg_constraint ON conrelid = tables.oid
      UNION ALL SELECT format('index %s', pg_get_indexdef(indexrelid))
        FROM tables JOIN pg_index ON indrelid = tables.oid
      ORDER BY 1
      """
    ).decode(String.self)
    return lines.map { $0.replacing("\(PostgresIdentifier(schema).sql).", with: "").replacing("\(schema).", with: "") }
  }
}
