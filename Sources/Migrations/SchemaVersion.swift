import LibPQClient

/// The schema that this build's API and workers need: a newer one works, an older one does not.
public enum SchemaVersion {
  /// The number of the newest migration.
  public static let needed = 64

  /// - Throws: `.behind` if the database's schema is older or missing; Postgres's errors.
  public static func check(_ pool: PostgresPool) async throws {
    try await check { query throws(PostgresError) in try await pool.query(query) }
  }

  /// Overload for anything that runs a statement.
  public static func check(_ run: (PostgresQuery) async throws(PostgresError) -> PostgresRows) async throws {
    let isThere = try await run("SELECT to_regclass('schema_migrations') IS NOT NULL").decode(Bool.self)
    let newest =
      isThere == [true]
      ? try await run("SELECT max(number) FROM schema_migrations").decode(Int?.self).first ?? nil : nil
    guard newest ?? 0 >= needed else {
      let found = newest.map { "goes up to migration \($0)" } ?? "has no schema yet"
      throw MigrationError(.behind, "the database \(found), and this program needs \(needed): run `fanmill migrate up`")
    }
  }
}
