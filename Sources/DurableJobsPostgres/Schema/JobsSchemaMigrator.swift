#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import LibPQClient

extension JobsSchema {
  /// A version and when it was applied.
  public struct VersionStatus: Sendable, Hashable {
    public let version: JobsSchemaVersion
    /// nil if it is not applied yet.
    public let appliedAt: Date?
  }

  /// The version that this program needs. A newer one works too, an older one does not.
  public static var newest: Int { JobsSchemaVersion.all.last?.number ?? 0 }

  /// Creates the queue's tables in `schema`, or updates them to the newest version: each version in its own
  /// transaction, recorded in `schema_versions`. Concurrent migrators take turns. On an up-to-date database it changes
  /// nothing and needs no rights to.
  ///
  /// If the schema is `jobs`, it moves the tables that earlier versions kept beside the app's into it, with all their
  /// rows, and leaves views under their old names, which serve programs of the last version.
  ///
  /// A version waits for the locks of the tables it changes only briefly, for up to two seconds, in which statements on
  /// that table queue up behind it. Then it releases its locks, and retries after a pause.
  ///
  /// - Parameters:
  ///   - pool: its role must own the schema, or be allowed to create it in this database.
  ///   - schema: without quotes.
  ///   - patience: how long one version is retried while other sessions hold its tables.
  /// - Returns: the versions that were applied.
  /// - Throws: `JobsSchemaError`; `PostgresError` if the server cannot be reached. Versions applied before that stay.
  @discardableResult
  public static func migrate(
    _ pool: PostgresPool, schema: String = JobsSchema.standard.name, patience: Duration = .seconds(120)
  ) async throws -> [JobsSchemaVersion] {
    try await JobsSchemaMigrator(pool: pool, schema: JobsSchema(schema)).up(patience: patience)
  }

  /// Undoes the versions after `number`, the last first, each in a transaction of its own. Jobs that are pending stay.
  ///
  /// - Parameter number: 1 or more.
  /// - Returns: the versions that were undone.
  /// - Throws: as `migrate` does.
  @discardableResult
  public static func rollBack(
    _ pool: PostgresPool, schema: String = JobsSchema.standard.name, to number: Int
  ) async throws -> [JobsSchemaVersion] {
    try await JobsSchemaMigrator(pool: pool, schema: JobsSchema(schema)).down(to: max(1, number))
  }

  /// Every version that this program knows, in order, and when each was applied. Changes nothing.
  ///
  /// - Throws: the same errors as `migrate` if the applied versions do not match.
  public static func status(
    _ pool: PostgresPool, schema: String = JobsSchema.standard.name
  ) async throws -> [VersionStatus] {
    try await JobsSchemaMigrator(pool: pool, schema: JobsSchema(schema)).status()
  }

  /// Checks, with `run` to execute statements, that the tables are as new as this program needs.
  ///
  /// - Throws: `.behind` if they are older or missing; Postgres' own errors.
  public func check(_ run: (PostgresQuery) async throws(PostgresError) -> PostgresRows) async throws {
    let isThere = try await run("SELECT to_regclass(\(versions.sql)) IS NOT NULL").decode(Bool.self)
    let newest =
      isThere == [true] ? try await run("SELECT max(version) FROM \(versions)").decode(Int?.self).first ?? nil : nil
    guard newest ?? 0 >= Self.newest else {
      let found = newest.map { "is at version \($0)" } ?? "does not exist yet"
      throw JobsSchemaError(
        .behind, "the queue's schema \"\(name)\" \(found), and this program needs version \(Self.newest): migrate it")
    }
  }
}

/// Updates a queue's schema to its newest version.
struct JobsSchemaMigrator: Sendable {
  let pool: PostgresPool
  let schema: JobsSchema
  var versions = JobsSchemaVersion.all

  func up(patience: Duration) async throws -> [JobsSchemaVersion] {
    var applied: [JobsSchemaVersion] = []
    while let version = try await step(patience: patience) { applied.append(version) }
    return applied
  }

  func down(to number: Int) async throws -> [JobsSchemaVersion] {
    var undone: [JobsSchemaVersion] = []
    for version in versions.reversed() where version.number > number {
      guard let undo = version.undo else { continue }
      let wasApplied = try await pool.transaction { transaction in
        try await takeTurn(in: transaction)
        let applied = try await applied(in: transaction)
        try check(applied)
        guard applied.contains(where: { $0.number == version.number }) else { return false }
        try await run(undo, in: transaction)
        try await transaction.execute("DELETE FROM \(schema.versions) WHERE version = \(Int32(version.number))")
        return true
      }
      if wasApplied { undone.append(version) }
    }
    return undone
  }

  func status() async throws -> [JobsSchema.VersionStatus] {
    let applied = try await pool.transaction { try await self.applied(in: $0) }
    try check(applied)
    return versions.map { version in
      JobsSchema.VersionStatus(version: version, appliedAt: applied.first { $0.number == version.number }?.at)
    }
  }

  // MARK: A step

  /// Applies the next version.
  ///
  /// - Returns: nil if none is left.
  private func step(patience: Duration) async throws -> JobsSchemaVersion? {
    let deadline = ContinuousClock.now + patience
    var attempt = LockAttempt()
    while true {
      do {
        return try await pool.transaction { try await next(in: $0, attempt) }
      } catch let held as TableHeld {
        if ContinuousClock.now >= deadline { throw try await failure(held) }
        // Pauses for twice as long as others may have waited, so that they can work most of the time.
        try await Task.sleep(for: attempt.limit * Double.random(in: 2...3))
        attempt = attempt.next(after: held)
      }
    }
  }

  private func next(in transaction: PostgresTransaction, _ attempt: LockAttempt) async throws
    -> JobsSchemaVersion?
  {
    try await takeTurn(in: transaction)
    let applied = try await applied(in: transaction)
    try check(applied)
    guard let version = versions.first(where: { $0.number > applied.last?.number ?? 0 }) else { return nil }
    do {
      try await apply(version, in: transaction, attempt)
    } catch let error as PostgresError {
      // A lock was not available, or not without a deadlock.
      if ["55P03", "40P01"].contains(error.sqlState) { throw TableHeld(table: nil) }
      guard error.code == .server else { throw error }
      throw JobsSchemaError(
        .refused,
        "version \(version.number) of the queue's schema \"\(schema.name)\" was refused, and none of it took "
          + "effect: \(error.message)",
        cause: error)
    }
    return version
  }

  private func apply(
    _ version: JobsSchemaVersion, in transaction: PostgresTransaction, _ attempt: LockAttempt
  ) async throws {
    try await transaction.execute("SELECT set_config('lock_timeout', \(attempt.setting), true)")
    var former: FormerTables?
    if version.number == 1 {
      // Must come before `search_path` changes, which names the schema of the old tables.
      if schema == .standard { former = try await FormerTables.find(leaving: schema, in: transaction) }
      try await makeSchema(in: transaction)
    }
    try await run(version.sql, in: transaction)
    try await former?.move(to: schema, in: transaction, attempt)
    try await transaction.execute(
      """
      INSERT INTO \(schema.versions) (version, hash)
      VALUES (\(Int32(version.number)), encode(sha256(convert_to(\(version.sql), 'UTF8')), 'hex'))
      """)
  }

  /// One migrator a schema at a time; the next one sees what this one did.
  private func takeTurn(in transaction: PostgresTransaction) async throws {
    try await transaction.execute(
      "SELECT pg_advisory_xact_lock(hashtextextended(\("durablejobs.schema.\(schema.name)"), 0))")
  }

  /// Runs statements whose tables are the queue's.
  private func run(_ sql: String, in transaction: PostgresTransaction) async throws {
    let path = try await transaction.query("SELECT current_setting('search_path')")[0].decode(String.self)
    try await transaction.execute("SELECT set_config('search_path', \(PostgresIdentifier(schema.name).sql), true)")
    try await transaction.executeScript(sql)
    try await transaction.execute("SELECT set_config('search_path', \(path), true)")
  }

  private func makeSchema(in transaction: PostgresTransaction) async throws {
    let name = PostgresIdentifier(schema.name)
    // CREATE SCHEMA IF NOT EXISTS requires the right to create one even if it exists.
    let isThere = try await transaction.query("SELECT to_regnamespace(\(name.sql)) IS NOT NULL")[0].decode(Bool.self)
    if !isThere { try await transaction.execute("CREATE SCHEMA \(name)") }
    try await transaction.execute(
      """
      CREATE TABLE \(schema.versions) (
        version integer PRIMARY KEY, hash text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())
      """)
  }

  private func failure(_ held: TableHeld) async throws -> JobsSchemaError {
    let holders = try await FormerTables.holders(of: held.table, in: pool)
    return JobsSchemaError(
      .held,
      "the queue's schema \"\(schema.name)\" was not migrated, and nothing has changed: other sessions lock its tables"
        + (holders.isEmpty ? "" : " (\(holders.joined(separator: "; ")))") + "; migrate again when they have ended")
  }

  // MARK: Versions that were applied

  private struct Applied: Sendable {
    var number: Int
    var at: Date
    /// Whether the applied version matches the program's; nil if the program does not know it.
    var isSame: Bool?
  }

  private func applied(in transaction: PostgresTransaction) async throws -> [Applied] {
    let isThere = try await transaction.query("SELECT to_regclass(\(schema.versions.sql)) IS NOT NULL")[0]
      .decode(Bool.self)
    guard isThere else { return [] }
    // The server hashes, so that no hash library is needed here.
    return try await transaction.query(
      """
      SELECT version, applied_at, hash = encode(sha256(convert_to(sql, 'UTF8')), 'hex') FROM \(schema.versions)
      LEFT JOIN unnest(\(versions.map { Int32($0.number) }), \(versions.map(\.sql))) AS known (version, sql)
        USING (version)
      ORDER BY version
      """
    ).decode(Int.self, Date.self, Bool?.self).map { Applied(number: $0.0, at: $0.1, isSame: $0.2) }
  }

  private func check(_ applied: [Applied]) throws(JobsSchemaError) {
    if let newer = applied.last(where: { $0.isSame == nil }) {
      throw JobsSchemaError(
        .newer,
        "the queue's schema \"\(schema.name)\" is at version \(newer.number), and this program knows "
          + "\(versions.last?.number ?? 0): use the newer program"
      )
    }
    if let changed = applied.first(where: { $0.isSame == false }) {
      throw JobsSchemaError(
        .changed,
        "version \(changed.number) of the queue's schema \"\(schema.name)\" is not the one that this program has: "
          + "use the program that applied it, or a later one"
      )
    }
  }
}
