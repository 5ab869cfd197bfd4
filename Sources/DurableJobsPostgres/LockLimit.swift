import DurableJobs
import LibPQClient

extension PostgresTransaction {
  /// Runs statements that wait at most `limit` each for a lock, in one round trip. The limit ends with them.
  ///
  /// - Returns: nil if others held a lock for longer; nothing is then changed.
  func pipeline(_ queries: [PostgresQuery], lockLimit limit: Duration) async throws(PostgresError) -> [PostgresRows]? {
    // The previous limit is kept in the session while the statements run. Going back to the savepoint restores it.
    let before: [PostgresQuery] = [
      "SAVEPOINT limited_wait",
      "SELECT set_config('fanmill.lock_timeout', current_setting('lock_timeout'), true)",
      "SELECT set_config('lock_timeout', \("\(Int(limit / .milliseconds(1)))ms"), true)",
    ]
    let after: PostgresQuery = "SELECT set_config('lock_timeout', current_setting('fanmill.lock_timeout'), true)"
    do {
      let rows = try await pipeline(before + queries + [after, "RELEASE limited_wait"])
      return Array(rows[before.count..<(before.count + queries.count)])
    } catch {
      guard error.sqlState == Self.lockNotAvailable else { throw error }
      try await pipeline(["ROLLBACK TO limited_wait", "RELEASE limited_wait"])
      return nil
    }
  }

  private static var lockNotAvailable: String { "55P03" }
}
