import LibPQClient
import Locking
import PrivateServers
import TestSupport
import Testing

private struct Deliberate: Error {}

@Suite(.timeLimit(.minutes(2))) struct TransactionTests {
  @Test func commitsOnReturnAndRollsBackOnThrow() async throws {
    try await withConnection { connection in
      try await connection.execute("CREATE TABLE t (n int8)")
      let count = try await connection.transaction { tx in
        try await tx.execute("INSERT INTO t VALUES (1)")
        try await tx.pipeline(["INSERT INTO t VALUES (2)", "INSERT INTO t VALUES (3)"])
        return try await tx.query("SELECT count(*) FROM t")[0].decode(Int.self)
      }
      #expect(count == 3)
      await #expect(throws: Deliberate.self) {
        try await connection.transaction { tx in
          try await tx.execute("INSERT INTO t VALUES (4)")
          throw Deliberate()
        }
      }
      #expect(try await connection.query("SELECT n FROM t ORDER BY n").decode(Int.self) == [1, 2, 3])
    }
  }

  @Test func anEmptyOneSendsNothingAndItsModeIsTheServers() async throws {
    try await withConnection { connection in
      let before = try await transactions(connection)
      try await connection.transaction { _ in }
      #expect(try await transactions(connection) == before + 1, "only the count's own")
      let inside = try await connection.transaction(.repeatableRead) { tx in
        try await tx.query("SELECT current_setting('transaction_isolation')")[0].decode(String.self)
      }
      #expect(inside == "repeatable read")
      let error = await failure {
        try await connection.transaction(.snapshot) { tx in _ = try await tx.execute("CREATE TABLE no (n int8)") }
      }
      #expect(error?.sqlState == "25006")
    }
  }

  /// The number of this session's transactions so far, including this one.
  private func transactions(_ connection: PostgresConnection) async throws -> Int {
    let query: PostgresQuery = """
      SELECT split_part(virtualtransaction, '/', 2)::int8 FROM pg_locks
      WHERE pid = pg_backend_pid() AND locktype = 'virtualxid'
      """
    return try await connection.query(query)[0].decode(Int.self)
  }

  @Test func aFailedStatementSpoilsTheTransactionEvenIfItsErrorIsCaught() async throws {
    try await withConnection { connection in
      try await connection.execute("CREATE TABLE t (n int8 PRIMARY KEY)")
      let error = await failure {
        try await connection.transaction { tx in
          try await tx.execute("INSERT INTO t VALUES (1)")
          _ = await failure { try await tx.execute("INSERT INTO t VALUES (1)") }
          let later = await failure { _ = try await tx.query("SELECT 1") }
          #expect(later?.sqlState == "25P02")
        }
      }
      #expect(error?.code == .server && error?.sqlState == "25P02")
      #expect(try await connection.query("SELECT count(*) FROM t")[0].decode(Int.self) == 0)
    }
  }

  @Test func aCommitThatTheServerRefusesThrows() async throws {
    try await withConnection { connection in
      try await connection.executeScript(
        "CREATE TABLE t (n int8, CONSTRAINT once UNIQUE (n) DEFERRABLE INITIALLY DEFERRED)")
      let error = await failure {
        try await connection.transaction { tx in
          try await tx.execute("INSERT INTO t VALUES (1)")
          try await tx.execute("INSERT INTO t VALUES (1)")
        }
      }
      #expect(error?.sqlState == "23505" && error?.constraint == "once")
      #expect(try await connection.query("SELECT count(*) FROM t")[0].decode(Int.self) == 0)
    }
  }

  @Test func afterItsClosureATransactionIsOfNoUse() async throws {
    try await withConnection { connection in
      let leaked = try await connection.transaction { tx in
        try await tx.execute("SELECT 1")
        return tx
      }
      #expect(await failure { try await leaked.execute("SELECT 1") }?.code == .transactionEnded)
      let unused = try await connection.transaction { $0 }
      #expect(await failure { try await unused.execute("SELECT 1") }?.code == .transactionEnded)
      // An explicit COMMIT ends it too: later statements must not run outside of it.
      let error = await failure {
        try await connection.transaction { tx in
          try await tx.execute("CREATE TABLE t (n int8)")
          try await tx.execute("COMMIT")
          let later = await failure { try await tx.execute("INSERT INTO t VALUES (1)") }
          #expect(later?.code == .transactionEnded)
        }
      }
      #expect(error?.code == .transactionEnded)
      #expect(try await connection.query("SELECT count(*) FROM t")[0].decode(Int.self) == 0)
    }
  }

  @Test func aCancelledTransactionIsRolledBack() async throws {
    try await withPool(size: 1) { pool in
      try await pool.execute("CREATE TABLE t (n int8)")
      let task = Task {
        try await pool.transaction { tx in
          try await tx.execute("INSERT INTO t VALUES (1)")
          try await tx.execute("SELECT pg_sleep(600)")
        }
      }
      try await withConnection({ $0 = pool.configuration }) { try await sleeperIsThere($0) }
      task.cancel()
      #expect(await failure { try await task.value }?.code == .cancelled)
      // The pool's only connection is free and idle.
      #expect(try await pool.query("SELECT count(*) FROM t")[0].decode(Int.self) == 0)
    }
  }

  @Test func aConnectionLostBeforeCommitIsNoDoubt() async throws {
    try await withPool(size: 2) { pool in
      try await pool.execute("CREATE TABLE t (n int8)")
      let error = await failure {
        try await pool.transaction { tx in
          try await tx.execute("INSERT INTO t VALUES (1)")
          let id = try await tx.query("SELECT pg_backend_pid()")[0].decode(Int.self)
          _ = try await pool.query("SELECT pg_terminate_backend(\(Int32(id)), 10000)")
          let later = await failure { _ = try await tx.query("SELECT 1") }
          #expect(later?.code == .connection)
        }
      }
      #expect(error?.code == .connection)
      #expect(try await pool.query("SELECT count(*) FROM t")[0].decode(Int.self) == 0)
    }
  }

  @Test func aConnectionLostDuringCommitLeavesADoubt() async throws {
    try await withPool(size: 2) { pool in
      // A deferred trigger makes the COMMIT wait, so that its session can be terminated.
      try await pool.withConnection { connection in
        try await connection.executeScript(
          """
          CREATE TABLE t (n int8);
          CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(600); RETURN NULL; END';
          CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait();
          """)
      }
      let process = Locked<Int32>(0)
      let task = Task {
        try await pool.transaction { tx in
          try await tx.execute("INSERT INTO t VALUES (1)")
          let id = try await tx.query("SELECT pg_backend_pid()")[0].decode(Int32.self)
          process.withLock { $0 = id }
        }
      }
      try await eventually {
        let id = process.withLock { $0 }
        return try await pool.query(
          "SELECT count(*) FROM pg_stat_activity WHERE pid = \(id) AND wait_event = 'PgSleep'")[0].decode(Int.self) == 1
      }
      _ = try await pool.query("SELECT pg_terminate_backend(\(process.withLock { $0 }), 10000)")
      let error = await failure { try await task.value }
      #expect(error?.code == .outcomeUnknown)
      #expect(error?.message.contains("unknown") == true)
    }
  }
}

/// Waits until a session of this database sleeps in `pg_sleep`.
func sleeperIsThere(_ connection: PostgresConnection) async throws {
  try await eventually {
    let query: PostgresQuery = """
      SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'
      """
    return try await connection.query(query)[0].decode(Int.self) > 0
  }
}
