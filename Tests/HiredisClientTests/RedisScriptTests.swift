import HiredisClient
import PrivateServers
import Testing

@Suite(.timeLimit(.minutes(1))) struct RedisScriptTests {
  @Test func namesScriptsAsTheServerDoes() async throws {
    #expect(RedisScript("return 1").digest == "e0e1f9fabfc9d4800c877a703b823ac0578ff8db")
    try await withRedis { _, client async throws in
      // Every length around the digest's block boundaries.
      for length in 40...140 {
        let script = RedisScript(
          "return '" + String(repeating: "ä", count: length) + "'" + (length % 2 == 0 ? " " : ""))
        #expect(try await client.send(script.loadCommand).text == script.digest)
      }
    }
  }

  @Test func sendsTheSourceOnlyToAServerThatDoesNotKnowIt() async throws {
    try await withRedis { _, client async throws in
      let script = RedisScript("return {KEYS[1], ARGV[1], redis.call('INCR', KEYS[1])}")
      for round in 1...3 {
        let reply = try await client.evaluate(script, keys: ["counter"], arguments: [round])
        #expect(reply.elements?.compactMap(\.text) == ["counter", "\(round)"])
        #expect(reply.elements?.last == .integer(Int64(round)))
        let calls = try await client.send(RedisCommand("INFO", "commandstats")).text ?? ""
        #expect(calls.contains("cmdstat_eval:calls=1,"))
      }
      try await client.send(RedisCommand("SCRIPT", "FLUSH"))
      let count = try await client.evaluate(script, keys: ["counter"], arguments: ["x"]) { reply throws(RedisError) in
        reply[2].integer
      }
      #expect(count == 4)
    }
  }

  @Test func throwsTheScriptsOwnError() async throws {
    try await withRedis { _, client async throws in
      let script = RedisScript("return redis.error_reply('BUSYQUEUE full')")
      let error = await redisError { () throws(RedisError) in try await client.evaluate(script, keys: []) }
      #expect(error?.code == .server && error?.serverPrefix == "BUSYQUEUE")
    }
  }
}
