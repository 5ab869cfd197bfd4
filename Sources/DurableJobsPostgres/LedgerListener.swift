import DurableJobs
import LibPQClient
import Locking

/// Hears of jobs that `enqueue` adds in SQL, over a connection of its own.
struct LedgerListener: Sendable {
  /// The channel of all queues' schemas; a notification is the schema's name, a space and the queue's.
  private static let channel = "durablejobs"
  /// How long the server may take to answer a sign.
  private static let patience = Duration.seconds(5)

  let pool: PostgresPool
  let schema: JobsSchema
  /// Between two signs that the connection is alive: a peer that is gone does not always say so.
  var pulse = Duration.seconds(5)

  func listen(
    to queues: Set<QueueName>, _ body: @escaping @Sendable (Set<QueueName>) async throws -> Void
  ) async throws {
    let connection = try await pool.dedicatedConnection()
    do {
      let notifications = try await connection.listen(Self.channel)
      // Notifications that come while `body` works are one call.
      let heard = Locked(queues)
      let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
      signal.yield()
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          for await notification in notifications {
            guard let queue = queue(in: notification.payload) else { continue }
            heard.withLock { _ = $0.insert(queue) }
            signal.yield()
          }
        }
        group.addTask {
          for await _ in signals {
            let queues = heard.withLock { heard in
              defer { heard = [] }
              return heard
            }
            if !queues.isEmpty { try await body(queues) }
          }
        }
        group.addTask {
          while true {
            try await Task.sleep(for: pulse)
            _ = try await connection.query("SELECT 1", timeout: Self.patience)
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

  private func queue(in payload: String) -> QueueName? {
    guard let space = payload.lastIndex(of: " "), payload[..<space] == schema.name else { return nil }
    return QueueName(rawValue: String(payload[payload.index(after: space)...]))
  }
}
