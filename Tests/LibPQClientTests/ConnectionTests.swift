import Foundation
import Glibc
import LibPQClient
import PrivateServers
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct ConnectionTests {
  @Test func reachesAServerOverTCPAndByName() async throws {
    var options = PrivatePostgres.Options.tests
    options.port = 0
    let server = try await PrivatePostgres.start(options: options)
    let port = try #require(server.port)
    for url in [try #require(server.tcpURL()), "postgres://postgres@localhost:\(port)/postgres"] {
      let connection = try await PostgresConnection.connect(PostgresConfiguration(url: url), loop: loop, logger: logger)
      #expect(try await connection.query("SELECT 1")[0].decode(Int.self) == 1)
      await connection.close()
      #expect(await failure { _ = try await connection.query("SELECT 1") }?.code == .connection)
    }
    await server.stop()
    let gone = await failure {
      _ = try await PostgresConnection.connect(
        PostgresConfiguration(url: try #require(server.tcpURL())), loop: loop, logger: logger)
    }
    #expect(gone?.code == .connection)
    let unknown = await failure {
      _ = try await PostgresConnection.connect(
        PostgresConfiguration(url: "postgres://no-such-host.invalid/x"), loop: loop, logger: logger)
    }
    #expect(unknown?.code == .connection)
    #expect(unknown?.message.contains("no-such-host.invalid") == true)
  }

  @Test func aServerThatSaysNothingTimesOut() async throws {
    // A listener that never accepts: the connection is established, and then there is silence.
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = bind(descriptor, $0, length)
        _ = listen(descriptor, 5)
        _ = getsockname(descriptor, $0, &length)
      }
    }
    var configuration = try PostgresConfiguration(
      url: "postgres://x@127.0.0.1:\(UInt16(bigEndian: address.sin_port))/x")
    configuration.connectTimeout = .milliseconds(50)
    let silent = configuration
    #expect(
      await failure { _ = try await PostgresConnection.connect(silent, loop: loop, logger: logger) }?.code == .timeout)
    configuration.connectTimeout = .seconds(60)
    let patient = configuration
    let task = Task { await failure { _ = try await PostgresConnection.connect(patient, loop: loop, logger: logger) } }
    task.cancel()
    #expect(await task.value?.code == .cancelled)
  }

  @Test func anErrorSaysWhatAndWhereButNoValues() async throws {
    try await withConnection { connection in
      try await connection.executeScript(
        "CREATE TABLE t (id int8 PRIMARY KEY, name text CHECK (name <> 'secret-name'))")
      try await connection.execute("INSERT INTO t VALUES (424242, 'a')")
      let twice = await failure { try await connection.execute("INSERT INTO t VALUES (\(424242), \("b"))") }
      #expect(twice?.code == .server && twice?.sqlState == "23505")
      #expect(twice?.constraint == "t_pkey" && twice?.table == "t")
      #expect(twice.map { "\($0)".contains("424242") } == false)
      let check = await failure { try await connection.execute("INSERT INTO t VALUES (\(1), \("secret-name"))") }
      #expect(check?.sqlState == "23514" && check?.description.contains("secret-name") == false)
      let cast = await failure { _ = try await connection.query("SELECT \("secret \" text")::int8") }
      #expect(cast?.sqlState == "22P02" && cast?.description.contains("secret") == false)
      #expect(cast?.message.contains("int") == true)
      let syntax = await failure { _ = try await connection.query("SELEC 1") }
      #expect(syntax?.sqlState == "42601")
      // The connection can still be used.
      #expect(try await connection.query("SELECT count(*) FROM t")[0].decode(Int.self) == 1)
    }
  }

  @Test func aPipelineIsOneTransaction() async throws {
    try await withConnection { connection in
      try await connection.execute("CREATE TABLE t (id int8 PRIMARY KEY)")
      let answers = try await connection.pipeline([
        "INSERT INTO t VALUES (1), (2)", "SELECT id FROM t ORDER BY id", "DELETE FROM t WHERE id = \(1)",
      ])
      #expect(answers.map(\.affected) == [2, 2, 1])
      #expect(try answers[1].decode(Int.self) == [1, 2])
      let error = await failure {
        try await connection.pipeline([
          "INSERT INTO t VALUES (3)", "INSERT INTO t VALUES (2)", "INSERT INTO t VALUES (4)",
        ])
      }
      #expect(error?.sqlState == "23505")
      // A statement that does not parse, between others that are being prepared.
      let unknown = await failure {
        try await connection.pipeline(["INSERT INTO t VALUES (5)", "SELECT nothing FROM nowhere", "SELECT 6"])
      }
      #expect(unknown?.sqlState == "42P01")
      #expect(try await connection.query("SELECT id FROM t").decode(Int.self) == [2])
      #expect(try await connection.query("SELECT 6").decode(Int32.self) == [6])
      #expect(try await connection.pipeline([]).isEmpty)
    }
  }

  @Test func callsOfManyTasksAreEachAnsweredWithTheirOwn() async throws {
    try await withConnection { connection in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<200 {
          group.addTask {
            if number % 7 == 0 {
              #expect(await failure { _ = try await connection.query("SELECT 1 / \(0)") }?.sqlState == "22012")
            } else {
              let back = try await connection.query("SELECT \(number)")[0].decode(Int.self)
              #expect(back == number)
            }
          }
        }
        try await group.waitForAll()
      }
    }
  }

  @Test func preparedStatementsAreKeptAndLetGo() async throws {
    try await withConnection({ $0.preparedStatements = 4 }) { connection in
      let count: PostgresQuery = "SELECT count(*) FROM pg_prepared_statements WHERE name <> \("")"
      for _ in 0..<3 { #expect(try await connection.query("SELECT \(1) + 1")[0].decode(Int.self) == 2) }
      #expect(try await connection.query(count)[0].decode(Int.self) == 2)
      // The same text with another type is a different statement.
      #expect(try await connection.query("SELECT \(1.5) + 1")[0].decode(Double.self) == 2.5)
      for number in 0..<50 {
        let query = PostgresQuery(unescaped: "SELECT \(number)")
        #expect(try await connection.query(query)[0].decode(Int.self) == number)
      }
      #expect(try await connection.query(count)[0].decode(Int.self) <= 5)
      try await connection.execute("SELECT 1")
      #expect(try await connection.query(count)[0].decode(Int.self) <= 5)
    }
    try await withConnection({ $0.preparedStatements = 0 }) { connection in
      let one = try await connection.query("SELECT \(1)")[0].decode(Int.self)
      #expect(one == 1)
      let kept = try await connection.query("SELECT count(*) FROM pg_prepared_statements")[0].decode(Int.self)
      #expect(kept == 0)
    }
  }

  @Test func aTableThatChangedIsReadAnew() async throws {
    try await withConnection { connection in
      try await connection.execute("CREATE TABLE t (id int8)")
      try await connection.execute("INSERT INTO t VALUES (1)")
      #expect(try await connection.query("SELECT * FROM t")[0].count == 1)
      try await connection.execute("ALTER TABLE t ADD COLUMN name text DEFAULT 'a'")
      #expect(try await connection.query("SELECT * FROM t")[0].count == 2)
      // Within a transaction no statement can be retried automatically: it fails once, and the next transaction works.
      try await connection.execute("ALTER TABLE t ADD COLUMN more text")
      let error = await failure { try await connection.transaction { _ = try await $0.query("SELECT * FROM t") } }
      #expect(error?.sqlState == "0A000")
      #expect(try await connection.transaction { try await $0.query("SELECT * FROM t")[0].count } == 3)
      // As after DISCARD by another client.
      try await connection.execute("DEALLOCATE ALL")
      #expect(try await connection.query("SELECT * FROM t")[0].count == 3)
    }
  }

  @Test func scriptsRunWhole() async throws {
    try await withConnection { connection in
      try await connection.executeScript("CREATE TABLE a (n int8); CREATE TABLE b (n int8); INSERT INTO a VALUES (1);")
      let error = await failure {
        try await connection.executeScript("INSERT INTO a VALUES (2); INSERT INTO missing VALUES (1)")
      }
      #expect(error?.sqlState == "42P01")
      #expect(try await connection.query("SELECT n FROM a").decode(Int.self) == [1])
      await #expect(throws: PostgresError.self) {
        try await connection.transaction { tx in
          try await tx.executeScript("INSERT INTO a VALUES (3); INSERT INTO b VALUES (3);")
          try await tx.execute("SELECT 1 / 0")
        }
      }
      #expect(try await connection.query("SELECT count(*) FROM b").decode(Int.self) == [0])
    }
  }

  @Test func listensToOthers() async throws {
    let configuration = try await freshConfiguration()
    let listener = try await PostgresConnection.connect(configuration, loop: loop, logger: logger)
    let sender = try await PostgresConnection.connect(configuration, loop: loop, logger: logger)
    let stream = try await listener.listen("jobs", "Odd \"name\"")
    try await sender.pipeline([
      "SELECT pg_notify('jobs', 'first')", "SELECT pg_notify('other', 'x')", "SELECT pg_notify('Odd \"name\"', \("ü"))",
    ])
    var got: [String] = []
    for await notification in stream {
      got.append(notification.channel + "=" + notification.payload)
      #expect(notification.sender == (await sender.processID))
      if got.count == 2 { break }
    }
    #expect(got == ["jobs=first", "Odd \"name\"=ü"])
    // The stream ends with its connection.
    let other = try await listener.listen("jobs")
    await listener.close()
    for await _ in other { Issue.record("a notification after the end") }
    await sender.close()
  }

  /// A consumer that reaches the end of a stream knows that it may have missed notifications.
  @Test func aStreamThatIsNotReadEnds() async throws {
    let configuration = try await freshConfiguration()
    let listener = try await PostgresConnection.connect(configuration, loop: loop, logger: logger)
    let stream = try await listener.listen("jobs")
    try await listener.execute("SELECT pg_notify('jobs', i::text) FROM generate_series(1, 1100) i")
    _ = try await listener.query("SELECT 1")
    var got: [String] = []
    for await notification in stream { got.append(notification.payload) }
    let kept = (1...1024).map { String($0) }
    #expect(got == kept)
    await listener.close()
  }

  /// Whenever the connection closes, even between a caller's check and its statement, no caller waits forever.
  @Test func whateverIsAskedOfAConnectionThatClosesEnds() async throws {
    let configuration = try await freshConfiguration()
    for round in 0..<300 {
      let connection = try await PostgresConnection.connect(configuration, loop: loop, logger: logger)
      await withTaskGroup(of: PostgresError?.self) { group in
        for number in 0..<12 {
          group.addTask {
            do throws(PostgresError) {
              while true {
                if number % 4 == 0 {
                  try await connection.executeScript("SELECT 1")
                } else {
                  _ = try await connection.query("SELECT 1")
                }
              }
            } catch { return error }
          }
        }
        group.addTask {
          for _ in 0..<round % 50 { await Task.yield() }
          await connection.close()
          return nil
        }
        for await error in group where error != nil { #expect(error?.code == .connection, "\(error as Any)") }
      }
    }
  }

  @Test func aConnectionThatIsDroppedIsClosed() async throws {
    try await withConnection { connection in
      var other: PostgresConnection? = try await PostgresConnection.connect(
        connection.configuration, loop: loop, logger: logger)
      let id = await other?.processID ?? 0
      other = nil
      try await eventually {
        try await connection.query("SELECT count(*) FROM pg_stat_activity WHERE pid = \(id)")[0].decode(Int.self) == 0
      }
    }
  }
}
