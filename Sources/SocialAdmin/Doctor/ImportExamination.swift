import DurableJobsAdmin
import LibPQClient
import Social

/// The doctor's check of imports from Firebase: whether one stopped before its end.
public struct ImportExamination: Examination {
  public init() {}

  public func run(in transaction: PostgresTransaction) async throws -> [Finding] {
    let exists = try await transaction.query("SELECT to_regclass('import_waiting') IS NOT NULL")[0].decode(Bool.self)
    if !exists { return [] }
    // A finished import leaves no rows in these tables.
    let waiting = try await transaction.query(
      """
      SELECT kind FROM unnest(ARRAY['likes', 'comments', 'messages']) AS kinds (kind)
      WHERE EXISTS (SELECT FROM import_waiting w WHERE w.kind = kinds.kind)
      UNION ALL SELECT 'notifications' WHERE EXISTS (SELECT FROM import_owners)
      """
    ).decode(String.self)
    if waiting.isEmpty { return [] }
    // Postgres keeps an advisory lock's 64 bits as two halves (pg_locks).
    let isRunning = try await transaction.query(
      """
      SELECT EXISTS (
        SELECT FROM pg_locks
        WHERE locktype = 'advisory' AND granted AND objsubid = 1
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND (classid::bigint << 32) | objid::bigint = hashtextextended(\(FirebaseImport.lockName), 0))
      """)[0].decode(Bool.self)
    if isRunning { return [.ok("import", "one from Firebase is running")] }
    return [
      .warn(
        "import", "one from Firebase stopped before its end: \(waiting.joined(separator: ", ")) are still to be added",
        "run `fanmill import firebase` again with the same files: it continues where it stopped")
    ]
  }
}
