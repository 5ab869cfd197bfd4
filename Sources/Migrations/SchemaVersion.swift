import Postgres

/// The schema that API and workers of this build work on: a newer one will do, an older one will not.
public enum SchemaVersion {
  /// The number of the newest migration.
  public static let needed = 26

  /// - Throws: `.behind` where the database's schema is older, or there is none; what Postgres refuses.
  public static func check(_ pool: PostgresPool) async throws {
    let isThere = try await pool.query("SELECT to_regclass('schema_migrations') IS NOT NULL").decode(Bool.self)
    let newest =
      isThere == [true]
      ? try await pool.query("SELECT max(number) FROM schema_migrations").decode(Int?.self).first ?? nil : nil
    guard newest ?? 0 >= needed else {
      let found = newest.map { "goes up to migration \($0)" } ?? "has no schema yet"
      throw MigrationError(.behind, "the database \(found), and this program needs \(needed): run `fanmill migrate up`")
    }
  }
}
