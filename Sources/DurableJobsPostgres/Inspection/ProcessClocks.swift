import LibPQClient

/// A process whose machine's clock is off.
package struct ProcessClock: Sendable, Hashable {
  package let program: String
  package let host: String
  /// How far it is ahead of Postgres' clock, in milliseconds; negative if it is behind.
  package let ahead: Int64
}

extension JobsDatabase {
  /// Records for the doctor that a process's clock is off, or deletes the record if it is right.
  ///
  /// - Parameter process: unique among all processes.
  public func note(_ clock: LedgerClock, of process: String, program: String, host: String) async throws {
    guard clock.isOff else {
      try await pool.execute("DELETE FROM \(schema.clocks) WHERE process = \(process)")
      return
    }
    let ahead = Int64(clock.ahead / .milliseconds(1))
    try await pool.execute(
      """
      INSERT INTO \(schema.clocks) (process, program, host, ahead_ms)
      VALUES (\(process), \(program), \(host), \(ahead))
      ON CONFLICT (process) DO UPDATE SET ahead_ms = excluded.ahead_ms, seen_at = now()
      """)
  }
}

extension JobsSchema {
  /// The clocks that processes reported as off within the last minute, worst first.
  package func processClocks(in transaction: PostgresTransaction) async throws -> [ProcessClock] {
    try await transaction.query(
      """
      SELECT program, host, ahead_ms FROM \(clocks)
      WHERE seen_at > now() - interval '1 minute' ORDER BY abs(ahead_ms) DESC, process
      """
    ).decode(String.self, String.self, Int64.self).map { ProcessClock(program: $0, host: $1, ahead: $2) }
  }
}
