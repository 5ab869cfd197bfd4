import HiredisClient
import PrivateServers
import Reactor
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct RedisConnectionTests {
  @Test func carriesEveryByte() async throws {
    try await withRedis { _, client async throws in
      let all = (0..<1024).map { UInt8(truncatingIfNeeded: $0) } + Array("\r\n$-1\r\n".utf8)
      #expect(try await client.send(RedisCommand("SET", all, all)).text == "OK")
      #expect(try await client.send(RedisCommand("GET", all)) == .string(all))
      #expect(try await client.send(RedisCommand("SET", "empty", [UInt8]())).text == "OK")
      #expect(try await client.send(RedisCommand("GET", "empty")) == .string([]))
      #expect(try await client.send(RedisCommand("GET", "none")).isNull)
    }
  }

  @Test func carriesLargeValues() async throws {
    try await withRedis { _, client async throws in
      let large = (0..<10_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
      try await client.send(RedisCommand("SET", "large", large))
      #expect(try await client.send(RedisCommand("GET", "large")).bytes == large)
      // Commands of the same turn must arrive whole on either side of it.
      let mixed = try await client.send(pipeline: [
        RedisCommand("SET", "a", 1), RedisCommand("GET", "large"), RedisCommand("SET", "large", large.reversed()),
        RedisCommand("GET", "a"), RedisCommand("GET", "large"),
      ])
      #expect(try mixed[1].get().bytes == large)
      #expect(try mixed[3].get().int == 1)
      #expect(try mixed[4].get().bytes == large.reversed())
    }
  }

  @Test func readsArraysOfManyElements() async throws {
    try await withRedis { _, client async throws in
      let count = 200_000
      for first in stride(from: 0, to: count, by: 20_000) {
        var push = RedisCommand("RPUSH", "list")
        push.append(contentsOf: first..<(first + 20_000))
        try await client.send(push)
      }
      let value = try await client.send(RedisCommand("LRANGE", "list", 0, -1))
      #expect(value.elements?.compactMap(\.int) == Array(0..<count))
      let sum = try await client.send(RedisCommand("LRANGE", "list", 0, -1)) { reply throws(RedisError) in
        (0..<reply.count).reduce(0) { $0 + (reply[$1].int ?? 0) }
      }
      #expect(sum == count * (count - 1) / 2)
    }
  }

  @Test func tellsErrorsByTheirPrefix() async throws {
    try await withRedis { _, client async throws in
      let wrong = await redisError { () throws(RedisError) in
        try await client.send(RedisCommand("SET", "k", "v"))
        return try await client.send(RedisCommand("LPUSH", "k", "x"))
      }
      #expect(wrong?.code == .server && wrong?.serverPrefix == "WRONGTYPE")

      let results = try await client.send(pipeline: [
        RedisCommand("INCR", "n"), RedisCommand("INCR", "k"), RedisCommand("NOSUCHCOMMAND"), RedisCommand("INCR", "n"),
      ])
      #expect(try results[0].get() == .integer(1))
      #expect(throws: RedisError.self) { try results[1].get() }
      #expect(throws: RedisError.self) { try results[2].get() }
      #expect(try results[3].get() == .integer(2))

      let nested = try await client.send(RedisCommand("EVAL", "return {1, {'a', redis.error_reply('MY fault')}}", 0))
      #expect(nested == .array([.integer(1), .array([.string(Array("a".utf8)), .error("MY fault")])]))
      #expect(try await client.send(pipeline: []).isEmpty)

      let decoding = await redisError { () throws(RedisError) in
        try await client.send(RedisCommand("GET", "k")) { reply throws(RedisError) -> Int in
          guard let number = reply.int else { throw RedisError(.protocol, "not a number") }
          return number
        }
      }
      #expect(decoding?.code == .protocol)
      #expect(try await client.send(RedisCommand("GET", "k")).text == "v")
    }
  }

  @Test func refusesCommandsThatStartAStream() async throws {
    try await withRedis { _, client async throws in
      for name in ["SUBSCRIBE", "MONITOR", "unsubscribe"] {
        #expect(
          await redisError { () throws(RedisError) in try await client.send(RedisCommand(name, "x")) }?.code
            == .configuration)
      }
      #expect(try await client.send(RedisCommand("PING")).text == "PONG")
    }
  }

  @Test func connectsByTCPAndByName() async throws {
    var options = PrivateRedis.Options()
    options.port = 0
    options.settings["databases"] = "4"
    try await withRedis(options) { server, onSocket async throws in
      let port = try #require(server.port)
      try await withClient(patient("redis://localhost:\(port)/3")) { client async throws in
        try await client.send(RedisCommand("SET", "where", "three"))
        #expect(try await client.send(RedisCommand("CLIENT", "GETNAME")).text == "fanmill")
      }
      #expect(try await onSocket.send(RedisCommand("GET", "where")).isNull)
      try await withClient(patient("unix://\(server.socket)?db=3")) { client async throws in
        #expect(try await client.send(RedisCommand("GET", "where")).text == "three")
      }
      let loop = EventLoop()
      let noDatabase = await redisError { () throws(RedisError) in
        try await RedisConnection.connect(patient("unix://\(server.socket)?db=9"), loop: loop)
      }
      #expect(noDatabase?.code == .configuration && noDatabase?.message.contains("database 9") == true)
      let noHost = await redisError { () throws(RedisError) in
        try await RedisConnection.connect(patient("redis://no-such-host.invalid"), loop: loop)
      }
      #expect(noHost?.code == .connection && noHost?.message.contains("no-such-host.invalid") == true)
      loop.stop()
    }
  }

  @Test func saysThatThePasswordIsWrong() async throws {
    let server = try await PrivateRedis.start()
    try await withClient(patient(server.url)) { client async throws in
      try await client.send(RedisCommand("CONFIG", "SET", "requirepass", "right"))
    }
    try await withClient(patient("unix://:right@\(server.socket)")) { client async throws in
      #expect(try await client.send(RedisCommand("PING")).text == "PONG")
      try await client.send(RedisCommand("ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all"))
    }
    try await withClient(patient("unix://app:secret@\(server.socket)")) { client async throws in
      #expect(try await client.send(RedisCommand("ACL", "WHOAMI")).text == "app")
    }
    for (credentials, hint) in [
      (":wrong@", "rejects the login"), ("app:wrong@", "rejects the login"), ("", "requires a password"),
    ] {
      // The client reports it to its callers at once, without waiting out the limit.
      let configuration = try patient("unix://\(credentials)\(server.socket)")
      try await withClient(configuration) { client async throws in
        let error = await redisError { () throws(RedisError) in try await client.send(RedisCommand("PING")) }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains(hint) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("wrong@") == false)
      }
    }
    await server.stop()
  }

  @Test func passesOnWhatTheServerSaysBeforeItHangsUp() async throws {
    var options = PrivateRedis.Options()
    options.settings["maxclients"] = "1"
    try await withRedis(options) { _, client async throws in
      try await client.send(RedisCommand("PING"))
      let error = await redisError { () throws(RedisError) in
        try await client.dedicatedConnection(commandTimeout: .seconds(60))
      }
      #expect(error?.code == .connection)
      #expect(error?.message.contains("max number of clients") == true, "\(error?.message ?? "")")
    }
  }

  @Test func blocksOnlyItsOwnConnection() async throws {
    try await withRedis { _, client async throws in
      let connection = try await client.dedicatedConnection(commandTimeout: .seconds(60))
      async let popped = connection.send(RedisCommand("BLPOP", "queue", 0))
      try await eventually { try await client.send(RedisCommand("CLIENT", "LIST")).text?.contains("cmd=blpop") == true }
      try await client.send(RedisCommand("RPUSH", "queue", "job"))
      #expect(try await popped.elements?.last?.text == "job")
      await connection.close()
      #expect(await !connection.isOpen)
      let closed = await redisError { () throws(RedisError) in try await connection.send(RedisCommand("PING")) }
      #expect(closed?.code == .closed)
    }
  }

  @Test func failsWhatWaitsWhenItIsClosed() async throws {
    try await withRedis { _, client async throws in
      let connection = try await client.dedicatedConnection(commandTimeout: .seconds(60))
      async let blocked = redisError { () throws(RedisError) in try await connection.send(RedisCommand("BLPOP", "q", 0))
      }
      async let reason = connection.waitUntilClosed()
      try await eventually { try await client.send(RedisCommand("CLIENT", "LIST")).text?.contains("cmd=blpop") == true }
      await connection.close()
      #expect(await blocked?.code == .closed)
      #expect(await reason.code == .closed)
      #expect(await connection.waitUntilClosed().code == .closed)
    }
  }

  @Test func closesWhenNobodyHoldsIt() async throws {
    try await withRedis { _, client async throws in
      @Sendable func clients() async throws -> Int {
        try await client.send(RedisCommand("CLIENT", "LIST")).text?.split(separator: "\n").count ?? 0
      }
      do {
        let connection = try await client.dedicatedConnection(commandTimeout: .seconds(60))
        #expect(try await connection.send(RedisCommand("PING")).text == "PONG")
        #expect(try await clients() == 2)
      }
      try await eventually { try await clients() == 1 }
    }
  }

  @Test func worksForTasksThatRunOnTheLoop() async throws {
    try await withRedis { _, client async throws in
      try await withTaskExecutorPreference(client.loop.taskExecutor) {
        try await withThrowingTaskGroup(of: Int?.self) { group in
          for _ in 0..<50 { group.addTask { try await client.send(RedisCommand("INCR", "n")).int } }
          let numbers = try await group.reduce(into: Set<Int?>()) { $0.insert($1) }
          #expect(numbers.count == 50)
        }
        let connection = try await client.dedicatedConnection(commandTimeout: .seconds(60))
        #expect(try await connection.send(RedisCommand("GET", "n")).int == 50)
        await connection.close()
      }
    }
  }
}
