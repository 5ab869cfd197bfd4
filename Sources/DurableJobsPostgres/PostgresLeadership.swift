import LibPQClient

/// Which process leads: one session holds an advisory lock as long as it does. When the process dies, the server frees
/// the lock with the session, and the next one that waits leads.
struct PostgresLeadership {
  private let lock: String
  private let pool: PostgresPool

  init(_ role: String, pool: PostgresPool, schema: JobsSchema) {
    // The queue of another schema has leaders of its own.
    lock = schema == .standard ? role : "\(schema.name).\(role)"
    self.pool = pool
  }

  /// Waits until this process leads, and runs `body` for as long as it does.
  func hold(during body: @escaping @Sendable () async throws -> Void) async throws {
    let connection = try await pool.dedicatedConnection()
    do {
      // A leader that stands still, or whose machine is gone, says nothing more: its session ends, and its lock with
      // it.
      try await connection.execute("SET idle_session_timeout = '4s'")
      // Asked for again and again instead of waited for in the server: a statement that waits keeps its snapshot, and
      // while there is an old snapshot no row that ended since is cleaned away, in tables where rows live for
      // milliseconds.
      while !(try await tryLock(on: connection)) {
        try await Task.sleep(for: .milliseconds(Int.random(in: 500...1000)))
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await body() }
        group.addTask {
          // A session that is gone does not always say so.
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
