import LibPQClient

/// A queue's tables as earlier versions had them: beside the app's own, in the first schema of `search_path`.
struct FormerTables: Sendable {
  /// The schema with these tables.
  let schema: String

  /// Jobs first, since most transactions lock it before any other.
  static let names = [
    "jobs", "dead_jobs", "ended_jobs", "job_cancellations", "workers", "queue_pauses", "job_minutes", "job_hours",
    "actions", "schedules", "schedule_ticks", "alarms", "stack_samples", "process_clocks",
  ]

  /// - Returns: nil if there is no table `jobs`, or it is not a queue's.
  static func find(leaving target: JobsSchema, in transaction: PostgresTransaction) async throws -> FormerTables? {
    let columns = [
      "queue", "id", "kind", "version", "payload", "attempts", "run_at", "unique_key", "parked", "failures",
    ]
    let schemas = try await transaction.query(
      """
      SELECT nspname::text FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
      WHERE pg_class.oid = to_regclass('jobs') AND relkind IN ('r', 'p') AND nspname <> \(target.name)
        AND (SELECT count(*) FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = ANY(\(columns)))
          = \(columns.count)
      """
    ).decode(String.self)
    return schemas.first.map { FormerTables(schema: $0) }
  }

  /// Replaces the tables of `target`, which were just created and are empty, with these: rows, indexes and sequences
  /// stay as they are, and only the names change. Views under the old names serve programs of the last version.
  func move(to target: JobsSchema, in transaction: PostgresTransaction, _ attempt: LockAttempt) async throws {
    try await compare(with: target, in: transaction)
    try await lock(in: transaction, attempt)
    let grants = try await grants(target, in: transaction)
    func list(_ schema: String) -> String {
      Self.names.map { PostgresIdentifier($0, in: schema).sql }.joined(separator: ", ")
    }
    var script = ["DROP TABLE \(list(target.name))"]
    for name in Self.names {
      let (old, new) = (PostgresIdentifier(name, in: schema), PostgresIdentifier(name, in: target.name))
      script.append("ALTER TABLE \(old) SET SCHEMA \(PostgresIdentifier(target.name))")
      script.append("CREATE VIEW \(old) AS SELECT * FROM \(new)")
    }
    // One round trip, since all other sessions wait.
    try await transaction.executeScript((script + grants).joined(separator: ";\n"))
  }

  /// - Throws: `.outdated` if a column of the last version is missing.
  private func compare(with target: JobsSchema, in transaction: PostgresTransaction) async throws {
    let missing = try await transaction.query(
      """
      WITH found AS (
        SELECT nspname, relname::text, attname::text, format_type(atttypid, atttypmod) AS type
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname IN (\(schema), \(target.name)) AND relname = ANY(\(Self.names)) AND relkind IN ('r', 'p')
          AND attnum > 0 AND NOT attisdropped
      )
      SELECT relname || '.' || attname FROM (
        SELECT relname, attname, type FROM found WHERE nspname = \(target.name)
        EXCEPT SELECT relname, attname, type FROM found WHERE nspname = \(schema)
      ) AS missing ORDER BY 1
      """
    ).decode(String.self)
    guard let first = missing.first else { return }
    throw JobsSchemaError(
      .outdated,
      "the queue's tables in \"\(schema)\" are older than the last version's: \(missing.count) columns are "
        + "missing, such as \(first); apply that version's migrations first"
    )
  }

  private func lock(in transaction: PostgresTransaction, _ attempt: LockAttempt) async throws {
    let names = (attempt.first.map { [$0] } ?? []) + Self.names.filter { $0 != attempt.first }
    for (index, name) in names.enumerated() {
      do {
        try await transaction.execute("LOCK TABLE \(PostgresIdentifier(name, in: schema)) IN ACCESS EXCLUSIVE MODE")
      } catch {
        guard ["55P03", "40P01"].contains(error.sqlState) else { throw error }
        throw TableHeld(table: name)
      }
      if index == 0 {
        try await transaction.execute(
          "SELECT set_config('lock_timeout', \(LockAttempt.setting(LockAttempt.later)), true)")
      }
    }
  }

  /// Other roles' rights move with the tables. These are the additional ones that they need: to the schema, to its
  /// versions, and to the views.
  private func grants(_ target: JobsSchema, in transaction: PostgresTransaction) async throws -> [String] {
    try await transaction.query(
      """
      WITH granted AS (
        SELECT relname, privilege_type, is_grantable,
          CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS role
        FROM pg_class, aclexplode(relacl)
        WHERE relnamespace = to_regnamespace(\(PostgresIdentifier(schema).sql)) AND relname = ANY(\(Self.names))
          AND grantee <> relowner AND privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
      )
      SELECT format('GRANT USAGE ON SCHEMA %I TO %s', \(target.name), role) FROM granted
      UNION SELECT format('GRANT SELECT ON %s TO %s', \(target.versions.sql), role) FROM granted
      UNION SELECT format('GRANT %s ON %I.%I TO %s%s', privilege_type, \(schema), relname, role,
        CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END) FROM granted
      """
    ).decode(String.self)
  }

  /// The holders of a queue's tables, or of this one, for an error message.
  static func holders(of table: String?, in pool: PostgresPool) async throws -> [String] {
    try await pool.query(
      """
      SELECT DISTINCT format('session %s, %s, for %s s',
        pid, coalesce(nullif(application_name, ''), usename, 'unnamed'),
        extract(epoch FROM now() - xact_start)::bigint)
      FROM pg_locks JOIN pg_stat_activity USING (pid) JOIN pg_class ON pg_class.oid = relation
      WHERE locktype = 'relation' AND granted AND pg_locks.database = (
          SELECT oid FROM pg_database WHERE datname = current_database())
        AND relname = ANY(\(table.map { [$0] } ?? names)) AND pid <> pg_backend_pid()
      ORDER BY 1 LIMIT 5
      """
    ).decode(String.self)
  }
}
