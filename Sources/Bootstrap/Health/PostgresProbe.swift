import Postgres

/// A connection to Postgres that serves health checks alone, so that requests that hold all of the pool's connections do
/// not make the process look as if it had lost its server.
actor PostgresProbe {
  private let pool: PostgresPool
  private var connection: PostgresConnection?

  init(_ pool: PostgresPool) { self.pool = pool }

  /// Runs statements on the connection, which is opened when it is needed and closed when a statement fails.
  func query(_ query: PostgresQuery) async throws(PostgresError) -> PostgresRows {
    let connection = try await open()
    do throws(PostgresError) {
      return try await connection.query(query)
    } catch {
      // The server said no, but it did answer.
      if error.code != .server {
        await connection.close()
        if self.connection === connection { self.connection = nil }
      }
      throw error
    }
  }

  private func open() async throws(PostgresError) -> PostgresConnection {
    if let connection, await !connection.isClosed { return connection }
    let opened = try await pool.dedicatedConnection()
    // Another check may have opened one meanwhile; one is enough.
    if let connection, await !connection.isClosed {
      await opened.close()
      return connection
    }
    connection = opened
    return opened
  }
}
