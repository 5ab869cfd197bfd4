import LibPQClient

/// A connection to Postgres that serves health checks alone, so that requests that hold all of the pool's connections
/// do not make the process look as if it had lost its server.
actor PostgresProbe {
  private let pool: PostgresPool
  private var connection: PostgresConnection?
  private(set) var isOpening = false
  /// Of the checks that wait for the one that opens it.
  private var waiting: [AsyncStream<Void>.Continuation] = []

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
    while true {
      if let connection, await !connection.isClosed { return connection }
      if !isOpening { break }
      // One connection serves all checks: another check opens it. A stream's wait ends with its task.
      let (opened, continuation) = AsyncStream<Void>.makeStream()
      waiting.append(continuation)
      for await _ in opened {}
      if Task.isCancelled { throw PostgresError(.cancelled, "the task was cancelled") }
    }
    isOpening = true
    defer {
      isOpening = false
      for continuation in waiting { continuation.finish() }
      waiting = []
    }
    let opened = try await pool.dedicatedConnection()
    connection = opened
    return opened
  }
}
