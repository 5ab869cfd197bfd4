import Foundation
import LibPQClient

/// Migrates a database to the schema that a folder of migrations describes, and back.
///
/// Each migration is one transaction, together with its row in `schema_migrations`. An advisory lock serializes
/// migrators that start at the same time: the second one finds the work done. A file that changed after it was applied
/// is refused, because the database has its earlier contents.
public struct Migrator: Sendable {
  /// A migration and when it was applied.
  public struct Status: Sendable {
    public let number: Int
    public let name: String
    /// nil if it is pending.
    public let appliedAt: Date?
  }

  public let migrations: [Migration]
  private let pool: PostgresPool

  /// - Parameter migrations: the result of `Migration.all(in:)`.
  public init(_ migrations: [Migration], pool: PostgresPool) {
    self.migrations = migrations.sorted { $0.number < $1.number }
    self.pool = pool
  }

  /// Applies the pending migrations.
  ///
  /// - Parameters:
  ///   - last: the number to stop after; nil for all.
  ///   - each: called with each migration once it has committed.
  /// - Returns: the applied migrations.
  /// - Throws: `MigrationError`; `PostgresError` if the server is unreachable. Migrations applied before stay applied.
  @discardableResult
  public func up(
    to last: Int? = nil, each: @Sendable (Migration) -> Void = { _ in }
  ) async throws -> [Migration] {
    var applied: [Migration] = []
    while let migration = try await step({ try await next(after: $0, upTo: last, in: $1) }) {
      each(migration)
      applied.append(migration)
    }
    return applied
  }

  /// Reverts the latest migrations.
  ///
  /// - Parameter count: the number of migrations.
  /// - Returns: the reverted migrations, latest first.
  /// - Throws: `.irreversible` if one has no down part; else as `up` does.
  @discardableResult
  public func down(
    _ count: Int = 1, each: @Sendable (Migration) -> Void = { _ in }
  ) async throws -> [Migration] {
    var undone: [Migration] = []
    while undone.count < count, let migration = try await step({ try await undoLatest(of: $0, in: $1) }) {
      each(migration)
      undone.append(migration)
    }
    return undone
  }

  /// All migrations with a file, in order, and when each was applied. Changes nothing.
  ///
  /// - Throws: as `up` does if the files do not match what was applied.
  public func status() async throws -> [Status] {
    let applied = try await pool.transaction { transaction in
      let exists = try await transaction.query("SELECT to_regclass('schema_migrations') IS NOT NULL")
      return try exists.decode(Bool.self).first == true ? try await Self.applied(in: transaction) : []
    }
    try check(applied)
    return migrations.map { migration in
      Status(
        number: migration.number, name: migration.name,
        appliedAt: applied.first { $0.number == migration.number }?.at)
    }
  }

  private struct Applied: Sendable {
    var number: Int
    var name: String
    var hash: String
    var at: Date
  }

  /// One transaction under the lock, which sees everything that earlier ones applied.
  private func step(
    _ body: @Sendable ([Applied], PostgresTransaction) async throws -> Migration?
  ) async throws -> Migration? {
    try await pool.transaction { transaction in
      try await transaction.execute("SELECT pg_advisory_xact_lock(hashtextextended('fanmill.migrations', 0))")
      try await transaction.executeScript(
        """
        SET LOCAL client_min_messages = warning;
        CREATE TABLE IF NOT EXISTS schema_migrations (
          number integer PRIMARY KEY, name text NOT NULL, hash text NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT now())
        """)
      let applied = try await Self.applied(in: transaction)
      try check(applied)
      return try await body(applied, transaction)
    }
  }

  private func next(
    after applied: [Applied], upTo last: Int?, in transaction: PostgresTransaction
  ) async throws -> Migration? {
    let numbers = Set(applied.map(\.number))
    guard let migration = migrations.first(where: { !numbers.contains($0.number) }),
      migration.number <= last ?? .max
    else { return nil }
    try await run(migration.up, of: migration, in: transaction)
    try await transaction.execute(
      """
      INSERT INTO schema_migrations (number, name, hash)
      VALUES (\(Int32(migration.number)), \(migration.name), \(migration.hash))
      """)
    return migration
  }

  private func undoLatest(of applied: [Applied], in transaction: PostgresTransaction) async throws -> Migration? {
    guard let number = applied.last?.number, let migration = migrations.first(where: { $0.number == number }) else {
      return nil
    }
    guard let down = migration.down else {
      throw MigrationError(.irreversible, "\(migration.file) has no line '-- down', so it cannot be undone")
    }
    try await run(down, of: migration, in: transaction)
    try await transaction.execute("DELETE FROM schema_migrations WHERE number = \(Int32(number))")
    return migration
  }

  private func run(_ sql: String, of migration: Migration, in transaction: PostgresTransaction) async throws {
    do {
      try await transaction.executeScript(sql)
    } catch {
      guard error.code == .server else { throw error }
      throw MigrationError(.refused, "\(migration.file) was refused and had no effect: \(error.message)")
    }
  }

  private func check(_ applied: [Applied]) throws(MigrationError) {
    for row in applied {
      guard let migration = migrations.first(where: { $0.number == row.number }) else {
        throw MigrationError(
          .missing,
          "migration \(row.number) (\(row.name)) was applied but has no file here: use the files of the newer version")
      }
      guard migration.hash == row.hash else {
        throw MigrationError(
          .changed,
          "\(migration.file) was changed after it was applied: restore it, and put the change into a new migration"
        )
      }
    }
    let latest = applied.last?.number ?? 0
    let numbers = Set(applied.map(\.number))
    if let late = migrations.first(where: { $0.number < latest && !numbers.contains($0.number) }) {
      throw MigrationError(
        .outOfOrder,
        "\(late.file) comes before migration \(latest), which is already applied: give it the next free number")
    }
  }

  private static func applied(in transaction: PostgresTransaction) async throws -> [Applied] {
    let rows = try await transaction.query(
      "SELECT number, name, hash, applied_at FROM schema_migrations ORDER BY number")
    return try rows.decode(Int.self, String.self, String.self, Date.self).map { row in
      Applied(number: row.0, name: row.1, hash: row.2, at: row.3)
    }
  }
}
