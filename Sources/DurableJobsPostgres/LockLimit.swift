import DurableJobs
import LibPQClient

extension PostgresTransaction {
  /// Runs statements that wait for a lock no longer than `limit` each, in one round trip. The limit ends with them.
  ///
  /// - Returns: nil where others held a lock for longer; the transaction is to be rolled back then, or to a savepoint.
  func pipeline(_ queries: [PostgresQuery], lockLimit limit: Duration) async throws(PostgresError) -> [PostgresRows]? {
    // The former limit is kept in the session for the time between the two statements.
    let before: [PostgresQuery] = [
      "SELECT set_config('fanmill.lock_timeout', current_setting('lock_timeout'), true)",
      "SELECT set_config('lock_timeout', \("\(Int(limit / .milliseconds(1)))ms"), true)",
    ]
    let after: PostgresQuery = "SELECT set_config('lock_timeout', current_setting('fanmill.lock_timeout'), true)"
    do {
      let rows = try await pipeline(before + queries + [after])
      return Array(rows[before.count..<(before.count + queries.count)])
    } catch {
      guard error.sqlState == Self.lockNotAvailable else { throw error }
      return nil
    }
  }

  private static var lockNotAvailable: String { "55P03" }
}
