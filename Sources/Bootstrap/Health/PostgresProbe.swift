import LibPQClient

/// A dedicated Postgres connection for health checks, so that an exhausted pool does not make the server look
/// unreachable.
actor PostgresProbe {
  private let pool: PostgresPool
  private var connection: PostgresConnection?
  private(set) var isOpening = false
  /// Checks that wait for the check that opens the connection.
  private var waiting: [AsyncStream<Void>.Continuation] = []

  init(_ pool: PostgresPool) { self.pool = pool }

  /// Runs a statement on the connection, which is opened on demand and closed when a statement fails.
  func query(_ query: PostgresQuery) async throws(PostgresError) -> PostgresRows {
    let connection = try await open()
    do throws(PostgresError) {
      return try await connection.query(query)
    } catch {
      // A server error is still a response.
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
      // One connection serves all checks, and another check is opening it. Waiting on a stream ends with its task.
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
