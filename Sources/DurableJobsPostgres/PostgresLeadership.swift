import LibPQClient

/// Decides which process leads: the leader's session holds an advisory lock. When the process dies, the server releases
/// the lock with the session, and the next one waiting leads.
struct PostgresLeadership {
  private let lock: String
  private let pool: PostgresPool

  init(_ role: String, pool: PostgresPool, schema: JobsSchema) {
    // The queue of another schema has its own leaders.
    lock = schema == .standard ? role : "\(schema.name).\(role)"
    self.pool = pool
  }

  /// Waits until this process leads, and runs `body` for as long as it does.
  func hold(during body: @escaping @Sendable () async throws -> Void) async throws {
    let connection = try await pool.dedicatedConnection()
    do {
      // A leader that stalls, or whose machine is gone, goes silent: the timeout ends its session, and its lock with
      // it.
      try await connection.execute("SET idle_session_timeout = '4s'")
      // Polled instead of waited for in the server: a waiting statement keeps its snapshot, and an old snapshot keeps
      // every row deleted since from being cleaned up, in tables whose rows live for milliseconds.
      while !(try await tryLock(on: connection)) {
        try await Task.sleep(for: .milliseconds(Int.random(in: 500...1000)))
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await body() }
        group.addTask {
          // A closed session does not always report it.
          while true {
            try await Task.sleep(for: .seconds(1))
            try await connection.execute("SELECT 1")
          }
        }
        defer { group.cancelAll() }
        try await group.next()
      }
    } catch {
      await connection.close()
      throw error
    }
    await connection.close()
  }

  private func tryLock(on connection: PostgresConnection) async throws -> Bool {
    let rows = try await connection.query("SELECT pg_try_advisory_lock(hashtextextended(\(lock), 0))")
    guard let row = rows.first else { return false }
    return try row.decode(Bool.self)
  }
}
