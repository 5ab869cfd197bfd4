import DurableJobs
import LibPQClient

/// Checks that the ledger answers, on a dedicated connection: the pool's may all be in use, and that does not mean that
/// Postgres is silent.
actor LedgerPulse {
  private let pool: PostgresPool
  private var connection: PostgresConnection?

  init(pool: PostgresPool) { self.pool = pool }

  /// - Throws: if no answer came within `limit`, which includes the time to connect.
  func ask(within limit: Duration) async throws {
    let connection = try await current(within: limit)
    do {
      _ = try await connection.query("SELECT 1", timeout: limit)
    } catch {
      if self.connection === connection { self.connection = nil }
      await connection.close()
      throw error
    }
  }

  private func current(within limit: Duration) async throws -> PostgresConnection {
    if let connection, await !connection.isClosed { return connection }
    let made = try await pool.dedicatedConnection(within: limit)
    connection = made
    return made
  }
}
