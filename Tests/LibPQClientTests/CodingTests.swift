import Foundation
import LibPQClient
import Testing

@Suite(.timeLimit(.minutes(2))) struct CodingTests {
  @Test func everyTypeComesBackAsItWent() async throws {
    try await withConnection { connection in
      func expectSame<Value: PostgresEncodable & PostgresDecodable & Equatable>(_ values: Value...) async throws {
        for value in values {
          let back = try await connection.query("SELECT \(value)").decode(Value.self)
          #expect(back == [value])
          let absent: Value? = nil
          #expect(try await connection.query("SELECT \(absent)")[0].decode(Value?.self) == nil)
        }
      }
      try await expectSame(true, false)
      try await expectSame(Int16.min, -1, 0, .max)
      try await expectSame(Int32.min, -1, 0, .max)
      try await expectSame(Int64.min, -1, 0, .max)
      try await expectSame(Int.min, -1, 0, .max)
      try await expectSame(0.0, -1.5, .infinity, -.infinity, .leastNonzeroMagnitude, .greatestFiniteMagnitude)
      try await expectSame("", "a", "süß 👩‍👩‍👧", "'; DROP TABLE x; --", String(repeating: "long ", count: 400_000))
      try await expectSame([UInt8](), [0, 1, 255], [UInt8](repeating: 7, count: 3_000_000))
      try await expectSame(PostgresUUID(high: 0, low: 1), PostgresUUID(high: .max, low: .max))
      try await expectSame(UUID())
      try await expectSame([Int](), [1, -1, .max], Array(0..<100_000))
      try await expectSame([Int64](), [1, -1, .min])
      try await expectSame([Int32](), [1, -1], [Int32.max])
      try await expectSame([Int16](), [1, -1])
      try await expectSame([Bool](), [true, false])
      try await expectSame([Double](), [1.5, -0.25])
      try await expectSame([String](), ["", "a", "{\",}"])
      try await expectSame([[UInt8]](), [[], [1, 2], [0]])
      try await expectSame([PostgresUUID](), [PostgresUUID(high: 1, low: 2)])
      try await expectSame([Int?](), [1, nil, 3], [nil])
      try await expectSame([String?](), ["a", nil])
      try await expectSame([Date](), [Date(timeIntervalSince1970: 1_700_000_000)])
      try await expectSame(PostgresJSON("{\"a\": [1, 2]}"))
    }
  }

  @Test func datesOnBothSidesOf2000() async throws {
    try await withConnection { connection in
      for seconds in [
        -62_000_000_000.0, -1.0, 0, 946_684_799.999999, 946_684_800, 1_700_000_000.123456, 32_000_000_000,
      ] {
        let date = Date(timeIntervalSince1970: seconds)
        let (back, text) = try await connection.query(
          "SELECT \(date), extract(epoch from \(date)::timestamptz)::float8"
        )[0].decode(Date.self, Double.self)
        #expect(abs(back.timeIntervalSince(date)) < 0.00001)
        #expect(abs(text - seconds) < 0.00001)
      }
      #expect(try await connection.query("SELECT \(Date.distantFuture)::text")[0].decode(String.self) == "infinity")
      #expect(try await connection.query("SELECT '-infinity'::timestamptz")[0].decode(Date.self) == .distantPast)
      let first = try await connection.query("SELECT '1999-12-31 23:59:59.5+00'::timestamptz")[0].decode(Date.self)
      #expect(first.timeIntervalSince1970 == 946_684_799.5)
    }
  }

  @Test func uuidsReadAsPostgresWritesThem() async throws {
    let uuid = UUID()
    #expect(PostgresUUID(uuid).description == uuid.uuidString.lowercased())
    #expect(PostgresUUID(uuid.uuidString) == PostgresUUID(uuid))
    #expect(PostgresUUID("no uuid") == nil)
    try await withConnection { connection in
      let text = try await connection.query("SELECT \(PostgresUUID(uuid))::text")[0].decode(String.self)
      #expect(text == uuid.uuidString.lowercased())
    }
  }

  @Test func narrowIntegersAndOtherTextsWiden() async throws {
    try await withConnection { connection in
      let row = try await connection.query(
        "SELECT 1::int2, 2::int4, 3::int8, 'a'::varchar, 'b'::name, '{\"c\":1}'::jsonb, 1::float4")[0]
      let values = try row.decode(Int.self, Int.self, Int.self, String.self, String.self, String.self, Double.self)
      #expect("\(values)" == #"(1, 2, 3, "a", "b", "{\"c\": 1}", 1.0)"#)
      try await connection.execute("CREATE TYPE mood AS ENUM ('glad', 'sad')")
      #expect(try await connection.query("SELECT 'sad'::mood AS mood")[0].decode(String.self, named: "mood") == "sad")
    }
  }

  @Test func whatDoesNotFitIsToldByColumnAndType() async throws {
    try await withConnection { connection in
      let row = try await connection.query("SELECT 'x' AS word, NULL::int8 AS hole, 1.5 AS amount")[0]
      let word = await failure { _ = try row.decode(Int.self, Int?.self, String?.self) }
      #expect(word?.code == .decoding)
      #expect(word?.message == "column 1 (word) is text, which cannot be read as Int64")
      let hole = await failure { _ = try row.decode(String.self, Int.self, String.self) }
      #expect(hole?.message.contains("column 2 (hole) is NULL") == true)
      let amount = await failure { _ = try row.decode(Double.self, named: "amount") }
      #expect(amount?.message.contains("cast it") == true)
      #expect(await failure { _ = try row.decode(String.self) }?.message == "the row has 3 columns where 1 are read")
      let nested = try await connection.query("SELECT ARRAY[[1, 2]]::int8[]")[0]
      #expect(await failure { _ = try nested.decode([Int].self) }?.message.contains("several dimensions") == true)
      let holed = try await connection.query("SELECT ARRAY[1, NULL]::int8[]")[0]
      #expect(await failure { _ = try holed.decode([Int].self) }?.code == .decoding)
    }
  }

  @Test func whatIsInterpolatedIsNeverSQL() async throws {
    let attack = "x'; DROP TABLE victims; --"
    let query: PostgresQuery = "INSERT INTO victims VALUES (\(attack), \(1 as Int?)) -- \(unescaped: "note")"
    #expect(query.sql == "INSERT INTO victims VALUES ($1, $2) -- note")
    #expect(!"\(query)".contains("DROP"))
    try await withConnection { connection in
      try await connection.execute("CREATE TABLE victims (name text, n int8)")
      #expect(try await connection.execute(query) == 1)
      #expect(try await connection.query("SELECT name FROM victims").decode(String.self) == [attack])
    }
  }

  @Test func partsOfAStatementBringTheirParameters() async throws {
    let part: PostgresQuery = "n > \(1) AND name <> \("a $1 of text") AND n IS DISTINCT FROM \(nil as Int?)"
    let table = "(SELECT 2::bigint AS n, '' AS name) t"
    let query: PostgresQuery = "SELECT \("first"), \(part), \(part), \("last") FROM \(unescaped: table)"
    #expect(
      query.sql == """
        SELECT $1, n > $2 AND name <> $3 AND n IS DISTINCT FROM $4, n > $5 AND name <> $6 AND n IS DISTINCT FROM $7, $8 \
        FROM (SELECT 2::bigint AS n, '' AS name) t
        """)
    let plain: PostgresQuery = "\(part)"
    #expect(plain.sql == part.sql)
    try await withConnection { connection in
      let row = try await connection.query(query)[0]
      #expect(try row.decode(String.self, Bool.self, Bool.self, String.self) == ("first", true, true, "last"))
    }
  }

  @Test func urlsAreReadAsLibpqReadsThem() async throws {
    let full = try PostgresConfiguration(
      url: "postgres://me:se%20cret@db.example:6543/app?sslmode=require&connect_timeout=7")
    #expect(full.host == "db.example" && full.port == 6543 && full.user == "me" && full.password == "se cret")
    #expect(full.database == "app" && full.settings["sslmode"] == "require" && full.connectTimeout == .seconds(7))
    let socket = try PostgresConfiguration(url: "postgresql:///app?host=%2Ftmp%2Fsock")
    #expect(socket.host == "/tmp/sock" && socket.database == "app")
    #expect(try PostgresConfiguration(url: "host=/tmp dbname=app").host == "/tmp")
    let several = try PostgresConfiguration(url: "postgres://a:1,b,c:3/x")
    #expect(several.servers == [.init(host: "a", port: 1), .init(host: "b"), .init(host: "c", port: 3)])
    #expect(several.sessionAttributes == .readWrite && several.place == "a:1 or b or c:3")
    let shared = try PostgresConfiguration(url: "host=a,b port=7 hostaddr=1.2.3.4, target_session_attrs=prefer-standby")
    #expect(shared.servers == [.init(host: "a", port: 7, address: "1.2.3.4"), .init(host: "b", port: 7)])
    #expect(shared.sessionAttributes == .preferStandby)
    #expect(try PostgresConfiguration(url: "postgres://a,b/x", several: .standby).sessionAttributes == .standby)
    #expect(try PostgresConfiguration(url: "postgres://a/x").sessionAttributes == .any)
    for wrong in [
      "http://secret@x", "postgres://me:secret@host:port/x", "postgres://me:secret@[::1", "x y z",
      "postgres://a:1,b:0/x", "host=a,b,c port=1,2", "host=a,b hostaddr=1.2.3.4",
      "postgres://secret@a,b/x?target_session_attrs=primaries",
    ] {
      let error = await failure { _ = try PostgresConfiguration(url: wrong) }
      #expect(error?.code == .configuration)
      #expect(error?.message.contains("secret") == false)
    }
  }
}
