import LibPQClient
import Locking
import PrivateServers
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct PoolTests {
  @Test func neverOpensMoreThanItsSize() async throws {
    try await withPool(size: 3) { pool in
      try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<300 {
          group.addTask { try await pool.query("SELECT \(number)")[0].decode(Int.self) }
        }
        var sum = 0
        for try await number in group { sum += number }
        #expect(sum == 299 * 300 / 2)
      }
      // The last caller may return while the pool is still opening a connection for it.
      try await eventually("the pool knows all its sessions") {
        let sessions = try await pool.query(
          """
          SELECT count(*) FROM pg_stat_activity
          WHERE datname = current_database() AND backend_type = 'client backend'
          """)[0].decode(Int.self)
        #expect((1...3).contains(sessions))
        let usage = await pool.usage()
        return usage.leased == 0 && usage.waiting == 0 && usage.idle == sessions
      }
    }
  }

  /// The only connection is returned just as a caller starts to wait for it: a missed wake-up would wait forever.
  @Test func nobodyWaitsWhileAConnectionLiesIdle() async throws {
    try await withPool(size: 1, waitLimit: .seconds(20)) { pool in
      for round in 0..<3000 {
        try await withThrowingTaskGroup(of: Void.self) { group in
          try await pool.withConnection { _ in
            group.addTask { try await pool.execute("SELECT 1") }
            for _ in 0..<round % 30 { await Task.yield() }
          }
          try await group.waitForAll()
        }
      }
    }
  }

  /// A refusal that a retry cannot change is reported at once: the limit here is longer than the test's.
  @Test(arguments: [("user", "nobody", "28000"), ("dbname", "nowhere", "3D000")])
  func tellsAtOnceOfARefusal(keyword: String, value: String, state: String) async throws {
    let url = try await SharedServers.freshDatabase()
    let configuration = try PostgresConfiguration(url: "\(url)&\(keyword)=\(value)")
    try await withPool(configuration, waitLimit: .seconds(1000)) { pool in
      let error = await failure { try await pool.execute("SELECT 1") }
      #expect(error?.sqlState == state && error?.isRefusal == true)
      #expect(error?.message.contains("\"\(value)\" does not exist") == true)
      #expect(error?.message.contains(state) == false)
    }
  }

  @Test func waitsNoLongerThanItsLimit() async throws {
    try await withPool(size: 1, waitLimit: .milliseconds(30)) { pool in
      // The first connection may take longer than the limit.
      try await eventually {
        do { return try await pool.execute("SELECT 1") == 1 } catch { return false }
      }
      try await pool.withConnection { _ in
        let error = await failure { try await pool.execute("SELECT 1") }
        #expect(error?.code == .poolExhausted)
      }
      #expect(try await pool.query("SELECT 1").count == 1)
    }
  }

  @Test func servesInOrder() async throws {
    try await withPool(size: 1) { pool in
      let order = Locked<[Int]>([])
      try await withThrowingTaskGroup(of: Void.self) { group in
        try await pool.withConnection { _ in
          for number in 0..<20 {
            group.addTask { try await pool.withConnection { _ in order.withLock { $0.append(number) } } }
            try await eventually { await pool.usage().waiting == number + 1 }
          }
        }
        try await group.waitForAll()
      }
      #expect(order.withLock { $0 } == Array(0..<20))
    }
  }

  @Test func aWaiterThatIsCancelledLeavesTheLine() async throws {
    try await withPool(size: 1) { pool in
      try await pool.withConnection { _ in
        let task = Task { try await pool.query("SELECT 1") }
        try await eventually { await pool.usage().waiting == 1 }
        task.cancel()
        #expect(await failure { _ = try await task.value }?.code == .cancelled)
        #expect(await pool.usage().waiting == 0)
      }
      #expect(try await pool.query("SELECT 1").count == 1)
    }
  }

  @Test func aConnectionLeftInATransactionIsNotLentAgain() async throws {
    try await withPool(size: 1) { pool in
      let first = try await pool.withConnection { connection in
        try await connection.execute("BEGIN")
        return await connection.processID
      }
      #expect(try await pool.query("SELECT pg_backend_pid()")[0].decode(Int32.self) != first)
    }
  }

  @Test func recoversFromAServerThatWasShotWithoutARestartOfItsOwn() async throws {
    let server = try await PrivatePostgres.start(options: .tests)
    try await withPool(PostgresConfiguration(url: server.url), size: 4, waitLimit: .seconds(60)) { pool in
      try await pool.execute("CREATE TABLE t (n int8 PRIMARY KEY)")
      for number in 1...3 {
        // One is in the middle of a statement when the server stops.
        let task = Task { try await pool.query("SELECT pg_sleep(600)") }
        try await eventually {
          try await pool.query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")[0].decode(Int.self)
            == 1
        }
        if number == 2 { await server.kill9() } else { await server.stopImmediate() }
        #expect(await failure { _ = try await task.value }?.code == .connection)
        async let waiting: Void = insert(number, pool)
        try await server.start()
        try await waiting
      }
      #expect(try await pool.query("SELECT n FROM t ORDER BY n").decode(Int.self) == [1, 2, 3])
    }
    await server.stop()
  }

  /// Retries the insert until the row exists: a session may outlive its server for a moment, and then break
  /// mid-statement.
  private func insert(_ number: Int, _ pool: PostgresPool) async throws {
    try await eventually {
      do {
        try await pool.execute("INSERT INTO t VALUES (\(number)) ON CONFLICT DO NOTHING")
        return true
      } catch let error as PostgresError where error.code == .connection {
        return false
      }
    }
  }

  @Test func saysWhyWhereThereIsNoServer() async throws {
    let configuration = try PostgresConfiguration(url: "postgresql://postgres@/x?host=/tmp/no-such-folder")
    try await withPool(configuration, size: 2, waitLimit: .seconds(2)) { pool in
      let error = await failure { try await pool.execute("SELECT 1") }
      #expect(error?.code == .connection)
      #expect(error?.message.contains("/tmp/no-such-folder") == true)
    }
  }

  @Test func afterItsEndNobodyIsServed() async throws {
    let configuration = try await freshConfiguration()
    let pool = PostgresPool(configuration: configuration, size: 1, loop: loop, logger: logger)
    let task = Task { await pool.run() }
    #expect(try await pool.query("SELECT 1").count == 1)
    task.cancel()
    await task.value
    #expect(await failure { try await pool.execute("SELECT 1") }?.code == .connection)
    try await withConnection({ $0 = configuration }) { witness in
      try await eventually {
        let query: PostgresQuery = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        return try await witness.query(query)[0].decode(Int.self) == 1
      }
    }
  }
}
