import Locking
import PrivateServers
import TestSupport
import Testing

@testable import LibPQClient

/// A primary is killed, and a standby takes its place: both are real servers.
@Suite(.timeLimit(.minutes(3)), .serialized) struct FailoverTests {
  private static var options: PrivatePostgres.Options {
    var options = PrivatePostgres.Options.tests
    options.port = 0
    return options
  }

  /// A primary and a standby that follows it.
  private func withPair(_ body: (_ primary: PrivatePostgres, _ standby: PrivatePostgres) async throws -> Void)
    async throws
  {
    let primary = try await PrivatePostgres.start(options: Self.options)
    let standby = try await PrivatePostgres.standby(of: primary, options: Self.options)
    try await body(primary, standby)
    await standby.stop()
    await primary.stop()
  }

  private func url(_ servers: [PrivatePostgres], _ query: String = "") -> String {
    let hosts = servers.map { "127.0.0.1:\($0.port ?? 0)" }.joined(separator: ",")
    return "postgresql://postgres@\(hosts)/postgres\(query)"
  }

  /// Retries as long as the connection fails, or a standby answers.
  private func retrying<Value>(_ body: () async throws -> Value) async throws -> Value {
    while true {
      do {
        return try await body()
      } catch let error as PostgresError {
        let isAway = [.connection, .timeout, .poolExhausted].contains(error.code)
        guard isAway || error.sqlState == "25006" else { throw error }
      }
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  @Test func connectsToWhatIsAskedFor() async throws {
    try await withPair { primary, standby async throws in
      func isStandby(_ servers: [PrivatePostgres], _ query: String) async throws -> Bool {
        let configuration = try PostgresConfiguration(url: url(servers, query))
        let connection = try await PostgresConnection.connect(configuration, loop: loop, logger: logger)
        let answer = try await connection.query("SELECT pg_is_in_recovery()")[0].decode(Bool.self)
        await connection.close()
        return answer
      }
      // The primary in either position, since several hosts imply one that takes writes.
      #expect(try await !isStandby([standby, primary], ""))
      #expect(try await !isStandby([primary, standby], ""))
      #expect(try await !isStandby([standby, primary], "?target_session_attrs=primary"))
      #expect(try await isStandby([standby, primary], "?target_session_attrs=any"))
      #expect(try await isStandby([primary, standby], "?target_session_attrs=standby"))
      #expect(try await isStandby([primary, standby], "?target_session_attrs=read-only"))
      #expect(try await isStandby([primary, standby], "?target_session_attrs=prefer-standby"))
      #expect(try await !isStandby([primary], "?target_session_attrs=prefer-standby"))
      let error = await failure { _ = try await isStandby([standby], "?target_session_attrs=read-write") }
      #expect(error?.code == .connection)
      #expect(error?.message.contains("read-only") == true, "\(String(describing: error))")
      // Each error gives its reason.
      await standby.stop()
      let both = await failure {
        _ = try await isStandby([standby, primary], "?target_session_attrs=standby")
      }
      #expect(both?.message.contains("127.0.0.1:\(standby.port ?? 0): ") == true, "\(String(describing: both))")
      #expect(both?.message.contains("127.0.0.1:\(primary.port ?? 0): ") == true)
    }
  }

  @Test func aPoolGoesOnWithThePromotedStandby() async throws {
    try await withPair { primary, standby async throws in
      let configuration = try PostgresConfiguration(url: url([primary, standby]))
      try await withPool(configuration, size: 4, waitLimit: .seconds(60)) { pool in
        try await pool.execute("CREATE TABLE t (n int8 PRIMARY KEY)")
        // No commit is lost if the standby confirms each of them.
        try await primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'")
        try await primary.run("SELECT pg_reload_conf()")
        try await eventually {
          try await pool.query("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")[0]
            .decode(Int.self) == 1
        }
        let written = Locked<[Int]>([])
        let isOver = Locked(false)
        try await withThrowingTaskGroup(of: Void.self) { group in
          for task in 0..<4 {
            group.addTask {
              var number = task
              while !isOver.withLock({ $0 }) {
                let mine = number
                number += 4
                // An earlier try may have committed although its reply was lost. An existing row is written again:
                // doing nothing would not wait for the standby, and a dying primary shows rows that no standby has
                // confirmed.
                _ = try await self.retrying {
                  try await pool.execute("INSERT INTO t VALUES (\(mine)) ON CONFLICT (n) DO UPDATE SET n = excluded.n")
                }
                written.withLock { $0.append(mine) }
              }
            }
          }
          try await eventually { written.withLock { $0.count } > 200 }
          let start = ContinuousClock.now
          await primary.kill9()
          // The promoted server has no standby to wait for.
          try await standby.run("ALTER SYSTEM SET synchronous_standby_names = ''")
          try await standby.promote()
          let before = written.withLock { $0.count }
          try await eventually { written.withLock { $0.count } > before + 8 }
          print("postgres: written again \(ContinuousClock.now - start) after the kill, promotion included")
          isOver.withLock { $0 = true }
          try await group.waitForAll()
        }
        let numbers = try await pool.query("SELECT n FROM t ORDER BY n").decode(Int.self)
        #expect(numbers == written.withLock { $0 }.sorted())
      }
    }
  }

  @Test func aConnectionToAServerThatRefusesToWriteIsReplaced() async throws {
    try await withPair { primary, standby async throws in
      // One name for two servers, like a floating address: only a write shows which one answers.
      let configuration = try PostgresConfiguration(url: url([standby, primary], "?target_session_attrs=any"))
      try await withPool(configuration, size: 1) { pool async throws in
        let first = try await pool.query("SELECT pg_backend_pid()")[0].decode(Int32.self)
        let error = await failure { try await pool.execute("CREATE TABLE no (n int8)") }
        #expect(error?.sqlState == "25006")
        #expect(try await pool.query("SELECT pg_backend_pid()")[0].decode(Int32.self) != first)
        await standby.stop()
        try await self.retrying { _ = try await pool.execute("CREATE TABLE yes (n int8)") }
      }
    }
  }

  @Test func readsGoToTheReplicaWhileItIsFresh() async throws {
    try await withPair { primary, standby async throws in
      let replicaURL = url([standby])
      try await withPool(PostgresConfiguration(url: url([primary]))) { pool in
        try await withPool(PostgresConfiguration(url: replicaURL), waitLimit: .seconds(1)) { replica in
          let reads = PostgresReads(primary: pool, replica: replica, logger: logger)
          func server() async throws -> Int {
            try await reads.query("SELECT inet_server_port()")[0].decode(Int.self)
          }
          // Not checked yet.
          #expect(try await server() == primary.port)
          #expect(reads.age == nil)
          try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await reads.run() }
            try await eventually { try await server() == standby.port }
            #expect(try #require(reads.age) < .seconds(60))
            try await pool.execute("CREATE TABLE t (n int8)")
            // A replica that does not replay becomes stale, although it still answers.
            try await replica.execute("SELECT pg_wal_replay_pause()")
            try await pool.execute("INSERT INTO t VALUES (1)")
            try await eventually { try await server() == primary.port }
            #expect(try await reads.query("SELECT n FROM t").decode(Int.self) == [1])
            try await replica.execute("SELECT pg_wal_replay_resume()")
            try await eventually { try await server() == standby.port }
            #expect(try await reads.query("SELECT n FROM t").decode(Int.self) == [1])
            // The replica's refusal of an invalid statement is final.
            let error = await failure { _ = try await reads.query("SELECT nonsense FROM t") }
            #expect(error?.sqlState == "42703")
            // An unavailable replica is replaced by the primary.
            await standby.kill9()
            #expect(try await server() == primary.port)
            try await standby.start()
            try await eventually { try await server() == standby.port }
            // A promoted replica has a different history.
            try await standby.promote()
            try await eventually { try await server() == primary.port }
            group.cancelAll()
          }
        }
      }
    }
  }

  @Test func aReplicaIsAsOldAsTheNewestPositionThatItReplayed() {
    let start = ContinuousClock.now
    let limit = Duration.seconds(1)
    var freshness = ReplicaFreshness()
    #expect(!freshness.isFresh(at: start, limit: limit))
    freshness.replica(at: 500)
    #expect(!freshness.isFresh(at: start, limit: limit))
    freshness.primary(at: 100, askedAt: start)
    freshness.primary(at: 200, askedAt: start + .milliseconds(300))
    freshness.replica(at: 99)
    #expect(freshness.asOf == nil)
    freshness.replica(at: 150)
    #expect(freshness.asOf == start)
    #expect(freshness.isFresh(at: start + .seconds(1), limit: limit))
    #expect(!freshness.isFresh(at: start + .milliseconds(1001), limit: limit))
    freshness.replica(at: 200)
    #expect(freshness.asOf == start + .milliseconds(300))
    // It has everything, but the primary no longer answers, so later writes are unknown.
    #expect(!freshness.isFresh(at: start + .milliseconds(1301), limit: limit))
    // Nothing was written meanwhile.
    freshness.primary(at: 200, askedAt: start + .seconds(2))
    freshness.replica(at: 200)
    #expect(freshness.isFresh(at: start + .seconds(3), limit: limit))
    // The log started over at an earlier position.
    freshness.primary(at: 150, askedAt: start + .seconds(4))
    freshness.replica(at: 149)
    #expect(freshness.asOf == start + .seconds(2))
    freshness.forget()
    #expect(freshness.asOf == nil)
  }
}
