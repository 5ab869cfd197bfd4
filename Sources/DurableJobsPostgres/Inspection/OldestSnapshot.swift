import LibPQClient

/// The oldest snapshot in the database, and its holder.
///
/// Postgres keeps rows that were deleted after the snapshot was taken. The ledger's rows live for milliseconds, so dead
/// rows outnumber live ones within minutes. A role that may not see other roles' sessions (`pg_read_all_stats`) sees
/// only its own.
package struct OldestSnapshot: Sendable {
  /// How long it has been held.
  package let seconds: Double
  /// The session or prepared transaction that holds it.
  package let holder: String

  static let query: PostgresQuery = """
    SELECT extract(epoch FROM clock_timestamp() - since)::float8, holder FROM (
      SELECT xact_start AS since,
        'session ' || pid || CASE WHEN application_name <> '' THEN ' (' || application_name || ')' ELSE '' END AS holder
      FROM pg_stat_activity
      WHERE datname = current_database() AND backend_xmin IS NOT NULL AND xact_start IS NOT NULL
        AND pid <> pg_backend_pid()
      UNION ALL
      SELECT prepared, 'the prepared transaction ' || gid FROM pg_prepared_xacts WHERE database = current_database()
    ) AS held ORDER BY since LIMIT 1
    """

  /// - Returns: nil if there is none.
  package static func read(in transaction: PostgresTransaction) async throws -> OldestSnapshot? {
    try decode(try await transaction.query(query))
  }

  static func decode(_ rows: PostgresRows) throws -> OldestSnapshot? {
    try rows.first.map { row in
      let (seconds, holder) = try row.decode(Double.self, String.self)
      return OldestSnapshot(seconds: max(0, seconds), holder: holder)
    }
  }
}
