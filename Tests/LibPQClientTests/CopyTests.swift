import LibPQClient
import PrivateServers
import Testing

private struct Deliberate: Error {}

@Suite(.timeLimit(.minutes(3))) struct CopyTests {
  @Test func aMillionRowsArriveAndAreCounted() async throws {
    try await withConnection { connection in
      try await connection.execute("CREATE TABLE t (a int8 PRIMARY KEY, b text)")
      let written = try await connection.copyIn(into: "t", columns: ["a", "b"]) { rows in
        for number in 0..<1_000_000 { try await rows.write(number, number % 3 == 0 ? nil : "row") }
      }
      #expect(written == 1_000_000)
      let query: PostgresQuery = "SELECT count(*), sum(a)::int8, count(b) FROM t"
      let counts = try await connection.query(query)[0].decode(Int.self, Int.self, Int.self)
      #expect(counts == (1_000_000, 499_999_500_000, 666_666))
    }
  }

  @Test func aCopyThatFailsWritesNothing() async throws {
    try await withConnection { connection in
      try await connection.execute("CREATE TABLE t (a int8 PRIMARY KEY)")
      let twice = await failure {
        try await connection.copyIn(into: "t", columns: ["a"]) { rows in
          for number in 0..<50_000 { try await rows.write(number % 40_000) }
        }
      }
      #expect(twice?.sqlState == "23505" && twice?.constraint == "t_pkey")
      // A value of the wrong width.
      let narrow = await failure {
        try await connection.copyIn(into: "t", columns: ["a"]) { try await $0.write(Int32(1)) }
      }
      #expect(narrow?.code == .server)
      let short = await failure { try await connection.copyIn(into: "t", columns: ["a"]) { try await $0.write(1, 2) } }
      #expect(short?.code == .configuration)
      await #expect(throws: Deliberate.self) {
        try await connection.copyIn(into: "t", columns: ["a"]) { rows in
          for number in 0..<20_000 { try await rows.write(number) }
          throw Deliberate()
        }
      }
      let missing = await failure { try await connection.copyIn(into: "nowhere", columns: ["a"]) { _ in } }
      #expect(missing?.sqlState == "42P01")
      #expect(try await connection.copyIn(into: "public.t", columns: ["a"]) { _ in } == 0)
      #expect(try await connection.query("SELECT count(*) FROM t")[0].decode(Int.self) == 0)
    }
  }

  @Test func callsOfOthersWaitForTheCopyAndGoOn() async throws {
    try await withConnection { connection in
      try await connection.execute("CREATE TABLE t (a int8)")
      async let before = connection.query("SELECT 1")
      async let copied = connection.copyIn(into: "t", columns: ["a"]) { rows in
        for number in 0..<30_000 { try await rows.write(number) }
      }
      async let after = connection.query("SELECT 2")
      #expect(try await (before.count, copied, after.count) == (1, 30_000, 1))
    }
  }

  @Test func aCopyIsPartOfItsTransaction() async throws {
    try await withPool(size: 1) { pool in
      try await pool.execute("CREATE TABLE t (a int8)")
      await #expect(throws: Deliberate.self) {
        try await pool.transaction { tx in
          try await tx.copyIn(into: "t", columns: ["a"]) { try await $0.write(1) }
          #expect(try await tx.query("SELECT count(*) FROM t")[0].decode(Int.self) == 1)
          throw Deliberate()
        }
      }
      #expect(try await pool.query("SELECT count(*) FROM t")[0].decode(Int.self) == 0)
    }
  }

  @Test func aCancelledCopyWritesNothing() async throws {
    try await withPool(size: 1) { pool in
      try await pool.execute("CREATE TABLE t (a int8)")
      let (began, tell) = AsyncStream.makeStream(of: Void.self)
      let task = Task {
        try await pool.withConnection { connection in
          try await connection.copyIn(into: "t", columns: ["a"]) { rows in
            var number = 0
            while true {
              try await rows.write(number)
              number += 1
              if number == 100_000 { tell.finish() }
            }
          }
        }
      }
      for await _ in began {}
      task.cancel()
      await #expect(throws: PostgresError.self) { _ = try await task.value }
      #expect(try await pool.query("SELECT count(*) FROM t")[0].decode(Int.self) == 0)
    }
  }
}
