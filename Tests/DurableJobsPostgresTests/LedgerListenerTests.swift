import DurableJobs
import JobsTestSupport
import LibPQClient
import Locking
import PrivateServers
import Testing
import TestSupport

@testable import DurableJobsPostgres

@Suite(.timeLimit(.minutes(3))) struct LedgerListenerTests {
  /// Runs `body` beside a listener that notes the queues it hears of.
  private func listen(
    _ pulse: Duration, _ body: @Sendable (PostgresPool, Locked<Set<QueueName>>) async throws -> Void
  ) async throws {
    try await TestDatabase.empty { pool in
      try await JobsSchema.migrate(pool)
      try await JobsSchema.migrate(pool, schema: "other")
      let heard = Locked<Set<QueueName>>([])
      let listener = LedgerListener(pool: pool, schema: .standard, pulse: pulse)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          try await listener.listen(to: ["first"]) { queues in heard.withLock { $0.formUnion(queues) } }
        }
        defer { group.cancelAll() }
        try await eventually("it listens") { heard.withLock { $0.contains("first") } }
        try await body(pool, heard)
      }
    }
  }

  /// A notification that comes beside the answer of a pulse is heard too.
  @Test func pulsesSwallowNoNotification() async throws {
    try await listen(.milliseconds(1)) { pool, heard in
      for number in 0..<300 {
        let queue = QueueName(rawValue: "q\(number)")
        try await pool.execute("SELECT jobs.enqueue('a', queue => \(queue.rawValue))")
        try await eventually("\(queue) is heard of") { heard.withLock { $0.contains(queue) } }
      }
    }
  }

  @Test func anotherSchemasJobsAreNotHeardOf() async throws {
    try await listen(.seconds(5)) { pool, heard in
      try await pool.execute("SELECT other.enqueue('a', queue => 'theirs')")
      try await pool.execute("SELECT jobs.enqueue('a', queue => 'ours')")
      try await eventually("its own is heard of") { heard.withLock { $0.contains("ours") } }
      #expect(heard.withLock { $0 } == ["first", "ours"])
    }
  }

  @Test func aRolledBackJobIsNotHeardOf() async throws {
    struct Undone: Error {}
    try await listen(.seconds(5)) { pool, heard in
      await #expect(throws: Undone.self) {
        try await pool.transaction { (transaction: PostgresTransaction) -> Void in
          try await transaction.execute("SELECT jobs.enqueue('a', queue => 'undone')")
          throw Undone()
        }
      }
      try await pool.execute("SELECT jobs.enqueue('a', queue => 'done')")
      try await eventually("the other is heard of") { heard.withLock { $0.contains("done") } }
      #expect(heard.withLock { $0 } == ["first", "done"])
    }
  }
}
