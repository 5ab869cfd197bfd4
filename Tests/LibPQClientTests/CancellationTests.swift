import LibPQClient
import PrivateServers
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct CancellationTests {
  @Test func aCancelledStatementEndsOnTheServerAndFreesItsConnection() async throws {
    let configuration = try await freshConfiguration()
    try await withPool(configuration, size: 1) { pool in
      let session = try await pool.query("SELECT pg_backend_pid()")[0].decode(Int32.self)
      try await withConnection({ $0 = configuration }) { witness in
        for _ in 0..<10 {
          let task = Task { try await pool.query("SELECT pg_sleep(600)") }
          try await sleeperIsThere(witness)
          task.cancel()
          #expect(await failure { _ = try await task.value }?.code == .cancelled)
          #expect(try await pool.query("SELECT pg_backend_pid()")[0].decode(Int32.self) == session)
        }
      }
    }
  }

  @Test func cancellingAtAnyMomentHitsNoOtherStatement() async throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed \(seed)")
    try await withPool(size: 2) { pool in
      var random = SeededGenerator(seed: seed)
      for round in 0..<300 {
        let spins = Int.random(in: 0..<40, using: &random)
        let task = Task { try await pool.query("SELECT \(round)")[0].decode(Int.self) }
        for _ in 0..<spins { await Task.yield() }
        task.cancel()
        do {
          let back = try await task.value
          #expect(back == round)
        } catch let error as PostgresError {
          #expect(error.code == .cancelled)
        }
        // The cancellation never hits other callers' statements.
        let other = try await pool.query("SELECT \(round), pg_sleep(0)::text")[0].decode(Int.self, String.self)
        #expect(other.0 == round)
      }
    }
  }

  @Test func aTaskCancelledBeforehandSendsNothing() async throws {
    try await withPool(size: 1) { pool in
      try await pool.execute("CREATE TABLE t (n int8)")
      let task = Task {
        while !Task.isCancelled { await Task.yield() }
        try await pool.execute("INSERT INTO t VALUES (1)")
      }
      task.cancel()
      #expect(await failure { try await task.value }?.code == .cancelled)
      #expect(try await pool.query("SELECT count(*) FROM t")[0].decode(Int.self) == 0)
    }
  }

  @Test func aTransactionThatIsCancelledBetweenItsStatementsIsUndone() async throws {
    try await withPool(size: 1) { pool in
      try await pool.execute("CREATE TABLE t (n int8)")
      let (written, told) = AsyncStream.makeStream(of: Void.self)
      let task = Task {
        try await pool.transaction { tx in
          try await tx.execute("INSERT INTO t VALUES (1)")
          told.finish()
          try await Task.sleep(for: .seconds(3600))
        }
      }
      for await _ in written {}
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(try await pool.query("SELECT count(*) FROM t")[0].decode(Int.self) == 0)
      // The connection can be used for the next transaction.
      try await pool.transaction { tx in _ = try await tx.execute("INSERT INTO t VALUES (2)") }
      #expect(try await pool.query("SELECT n FROM t").decode(Int.self) == [2])
    }
  }

  @Test func aStatementBehindOthersIsCancelledWithoutHurtingThem() async throws {
    try await withConnection { connection in
      try await connection.execute("CREATE TABLE t (n int8)")
      let lock = try await PostgresConnection.connect(connection.configuration, loop: loop, logger: logger)
      try await lock.execute("SELECT pg_advisory_lock(1)")
      async let first = connection.query("SELECT 'first', pg_advisory_xact_lock(1)")
      try await eventually {
        try await lock.query("SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'")[0].decode(
          Int.self) == 1
      }
      let second = Task { try await connection.query("SELECT 2") }
      async let third = connection.query("SELECT 3")
      second.cancel()
      #expect(await failure { _ = try await second.value }?.code == .cancelled)
      await lock.close()
      #expect(try await first.count == 1)
      #expect(try await third[0].decode(Int.self) == 3)
    }
  }

  @Test func aTimeOutGivesTheConnectionUp() async throws {
    let configuration = try await freshConfiguration()
    try await withPool(configuration, size: 1) { pool in
      let session = try await pool.query("SELECT pg_backend_pid()")[0].decode(Int32.self)
      let error = await failure { try await pool.execute("SELECT pg_sleep(600)", timeout: .milliseconds(20)) }
      #expect(error?.code == .timeout)
      #expect(try await pool.query("SELECT pg_backend_pid()")[0].decode(Int32.self) != session)
      // The server stops the abandoned statement.
      try await eventually {
        try await pool.query("SELECT count(*) FROM pg_stat_activity WHERE pid = \(session)")[0].decode(Int.self) == 0
      }
    }
  }

  @Test func aServerThatIsFrozenIsNotWaitedForWhenCancelled() async throws {
    try await withConnection({ $0.cancelTimeout = .milliseconds(50) }) { connection in
      let id = await connection.processID
      let task = Task { try await connection.query("SELECT pg_sleep(600)") }
      try await withConnection({ $0 = connection.configuration }) { try await sleeperIsThere($0) }
      stop(id)
      task.cancel()
      #expect(await failure { _ = try await task.value }?.code == .cancelled)
      #expect(await connection.isClosed)
      resume(id)
    }
  }
}
