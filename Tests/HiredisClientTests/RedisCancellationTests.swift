import HiredisClient
import Locking
import PrivateServers
import Reactor
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct RedisCancellationTests {
  @Test func beforeSendingNothingIsSent() async throws {
    try await withRedis { _, client async throws in
      try await client.send(RedisCommand("SET", "n", 0))
      for onLoop in [false, true] {
        let outcome = await withTaskGroup(of: RedisError?.self) { group in
          group.cancelAll()
          group.addTask(executorPreference: onLoop ? client.loop.taskExecutor : nil) {
            await redisError { () throws(RedisError) in try await client.send(RedisCommand("INCR", "n")) }
          }
          return await group.next() ?? nil
        }
        #expect(outcome?.code == .cancelled)
      }
      #expect(try await client.send(RedisCommand("GET", "n")).int == 0)
    }
  }

  @Test func whileWaitingTheTaskIsFreeAtOnceAndTheReplyIsDropped() async throws {
    try await withRedis { _, client async throws in
      let connection = try await client.dedicatedConnection(commandTimeout: .seconds(60))
      await withTaskGroup(of: RedisError?.self) { group in
        group.addTask {
          await redisError { () throws(RedisError) in try await connection.send(RedisCommand("BLPOP", "q", 0)) }
        }
        do {
          try await eventually {
            try await client.send(RedisCommand("CLIENT", "LIST")).text?.contains("cmd=blpop") == true
          }
        } catch {
          Issue.record(error)
        }
        group.cancelAll()
        // Nothing was pushed: only the cancellation can have ended it.
        #expect(await group.next()??.code == .cancelled)
      }
      // The next command waits behind the blocked one, whose reply must not be taken for its own.
      async let echoed = connection.send(RedisCommand("ECHO", "mine"))
      async let numbered = connection.send(pipeline: [RedisCommand("INCR", "a"), RedisCommand("INCR", "a")])
      try await client.send(RedisCommand("RPUSH", "q", "dropped"))
      #expect(try await echoed.text == "mine")
      #expect(try await numbered.map { try $0.get().int } == [1, 2])
      await connection.close()
    }
  }

  @Test func whileNotConnectedTheTaskIsFreeAtOnce() async throws {
    let server = try await PrivateRedis.start()
    let configuration = try patient(server.url)
    await server.stop()
    try await withClient(configuration) { client async throws in
      let error = await withTaskGroup(of: RedisError?.self) { group in
        group.addTask {
          await redisError { () throws(RedisError) in try await client.send(RedisCommand("SET", "k", "v")) }
        }
        for _ in 0..<100 { await Task.yield() }
        group.cancelAll()
        return await group.next() ?? nil
      }
      #expect(error?.code == .cancelled)
      try await server.start()
      #expect(try await client.send(RedisCommand("GET", "k")).isNull)
    }
    await server.stop()
  }

  /// Every task gets only its own replies, whatever is cancelled at whatever time.
  @Test func randomEchoes() async throws {
    var generator = SeededGenerator("randomEchoes")
    let seeds = (0..<64).map { _ in generator.next() }
    let cancelled = Locked(0)
    try await withRedis { _, client async throws in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (task, seed) in seeds.enumerated() {
          group.addTask(executorPreference: task % 2 == 0 ? client.loop.taskExecutor : nil) {
            var generator = SeededGenerator(seed: seed)
            for round in 0..<150 {
              let yields = Bool.random(using: &generator) ? Int.random(in: 0..<40, using: &generator) : nil
              let size = Int.random(in: 0..<6, using: &generator)
              let count = await echo(client, "\(task)-\(round)", count: size, cancelAfter: yields)
              cancelled.withLock { $0 += count }
            }
          }
        }
        try await group.waitForAll()
      }
    }
    #expect(cancelled.withLock { $0 } > 0)
  }

  /// Sends one command (`count` 0) or a pipeline, cancelled after some yields if requested, and checks the replies.
  ///
  /// - Returns: 1 if it was cancelled.
  private func echo(_ client: RedisClient, _ tag: String, count: Int, cancelAfter yields: Int?) async -> Int {
    await withTaskGroup(of: Int.self) { group in
      group.addTask {
        do throws(RedisError) {
          if count == 0 {
            let reply = try await client.send(RedisCommand("ECHO", tag))
            #expect(reply.text == tag)
          } else {
            let expected = (0..<count).map { "\(tag)-\($0)" + String(repeating: "x", count: $0 * 3000) }
            let results = try await client.send(pipeline: expected.map { RedisCommand("ECHO", $0) })
            #expect(results == expected.map { .success(.string(Array($0.utf8))) })
          }
          return 0
        } catch {
          #expect(error.code == .cancelled && yields != nil)
          return 1
        }
      }
      if let yields {
        for _ in 0..<yields { await Task.yield() }
        group.cancelAll()
      }
      return await group.next() ?? 0
    }
  }
}
