import LibPQClient
import PrivateServers
import Reactor
import TestSupport
import Testing

/// The results for a caller with a deadline when a server has stopped answering.
@Suite(.timeLimit(.minutes(3))) struct DeadlineTests {
  /// Cancelling would wait for the same server, and so would ROLLBACK: both have no tight limit here.
  private func patient(_ url: String) throws -> PostgresConfiguration {
    var configuration = try PostgresConfiguration(url: url)
    configuration.cancelTimeout = .seconds(3600)
    configuration.connectTimeout = .seconds(3600)
    configuration.queryTimeout = .seconds(3600)
    return configuration
  }

  @Test func aServerThatStandsStillIsNotWaitedForLonger() async throws {
    let server = try await PrivatePostgres.start(options: .tests)
    try await withPool(try patient(server.url), size: 4, waitLimit: .seconds(3600)) { pool in
      try await pool.execute("CREATE TABLE t (n int8)")
      await server.freeze()
      do {
        try await withThrowingTaskGroup(of: Void.self) { group in
          // More callers than connections: some wait in the pool.
          for number in 0..<12 {
            group.addTask {
              let error = await within(.milliseconds(300)) {
                await failure {
                  if number.isMultiple(of: 2) {
                    try await pool.execute("SELECT 1")
                  } else {
                    try await pool.transaction { _ = try await $0.execute("INSERT INTO t VALUES (1)") }
                  }
                }
              }
              #expect([.timeout, .poolExhausted].contains(error?.code), "\(String(describing: error))")
            }
          }
          try await group.waitForAll()
        }
      } catch {
        await server.thaw()
        throw error
      }
      await server.thaw()
      let back = ContinuousClock.now
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<20 { group.addTask { _ = try await pool.query("SELECT pg_sleep(0.01)::text") } }
        try await group.waitForAll()
      }
      #expect(.now - back < .seconds(5), "the pool is whole within a second")
      #expect(try await pool.query("SELECT count(*) FROM t")[0].decode(Int.self) == 0)
    }
    await server.stop()
  }

  @Test func aCancelledStatementIsGivenUpAtTheDeadline() async throws {
    let server = try await PrivatePostgres.start(options: .tests)
    let connection = try await PostgresConnection.connect(try patient(server.url), loop: loop, logger: logger)
    await server.freeze()
    let task = Task {
      try await within(.milliseconds(300)) { try await connection.query("SELECT 1") }
    }
    task.cancel()
    #expect(await failure { _ = try await task.value }?.code == .cancelled)
    await server.thaw()
    await server.stop()
  }

  @Test func aTransactionWhoseDeadlineHasPassedIsNotCommitted() async throws {
    try await withPool(size: 1) { pool in
      try await pool.execute("CREATE TABLE t (n int8)")
      let error = await failure {
        try await within(.seconds(3600)) {
          try await pool.transaction { transaction in
            _ = try await transaction.execute("INSERT INTO t VALUES (1)")
            Deadline.current?.extend(by: .seconds(-7200))
          }
        }
      }
      #expect(error?.code == .timeout)
      #expect(try await pool.query("SELECT count(*) FROM t")[0].decode(Int.self) == 0)
    }
  }

  @Test func withoutADeadlineNothingIsShorter() async throws {
    #expect(Deadline.shortened(.seconds(7)) == .seconds(7))
    #expect(Deadline.shortened(optional: nil) == nil)
    await within(.seconds(3600)) {
      #expect(Deadline.shortened(.seconds(7)) == .seconds(7))
      #expect(Deadline.shortened(optional: nil).map { $0 > .seconds(3500) } == true)
    }
  }
}

/// Runs `body` with a deadline.
private func within<Value>(_ limit: Duration, _ body: () async throws -> Value) async rethrows -> Value {
  try await Deadline.$current.withValue(Deadline(after: limit)) { try await body() }
}
