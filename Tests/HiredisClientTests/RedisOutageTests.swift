import Glibc
import HiredisClient
import Locking
import PrivateServers
import Reactor
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct RedisOutageTests {
  @Test func aReplyThatIsLateClosesAndReplacesTheConnection() async throws {
    try await withRedis(configure: { $0.commandTimeout = .milliseconds(300) }) { server, client async throws in
      let first = try await client.send(RedisCommand("CLIENT", "ID")).int
      await server.freeze()
      let codes = await withTaskGroup(of: RedisError.Code?.self) { group in
        for _ in 0..<10 {
          group.addTask {
            await redisError { () throws(RedisError) in try await client.send(RedisCommand("PING")) }?.code
          }
        }
        return await group.reduce(into: [RedisError.Code?]()) { $0.append($1) }
      }
      #expect(codes.contains(.timeout))
      // A command whose own limit was not reached yet, or that found no connection, gets a connection error.
      #expect(codes.allSatisfy { $0 == .timeout || $0 == .connection }, "\(codes)")
      await server.thaw()
      let second = try await retrying { () throws(RedisError) in try await client.send(RedisCommand("CLIENT", "ID")).int
      }
      #expect(first != second)
    }
  }

  @Test func aLimitOfItsOwnHoldsForOneCommand() async throws {
    try await withRedis(configure: { $0.commandTimeout = .milliseconds(200) }) { _, client async throws in
      // Blocks longer than the configured limit and shorter than its own: no timeout.
      let blocked = try await client.send(RedisCommand("BLPOP", "nothing", 0.5), timeout: .seconds(60))
      #expect(blocked.isNull)
      let connection = try await client.dedicatedConnection(commandTimeout: .seconds(60))
      let error = await redisError { () throws(RedisError) in
        try await connection.send(RedisCommand("BLPOP", "nothing", 0), timeout: .milliseconds(50))
      }
      #expect(error?.code == .timeout)
      #expect(await connection.waitUntilClosed().code == .connection)
    }
  }

  @Test func aReplyThatArrivedWhileTheProcessStoodStillIsNotLate() async throws {
    try await withRedis(configure: { $0.commandTimeout = .seconds(1) }) { _, client in
      try await client.send(
        RedisCommand("SET", "large", [UInt8](repeating: 7, count: 5_000_000)), timeout: .seconds(60))
      for limit in [nil, Duration.seconds(1)] {
        try await withThrowingTaskGroup(of: Int.self) { group async throws in
          group.addTask(executorPreference: client.loop.taskExecutor) {
            try await client.send(RedisCommand("GET", "large"), timeout: limit) { reply throws(RedisError) in
              reply.bytes.count
            }
          }
          await client.loop.twoTurns()
          // Blocks the loop's thread, after the command has been sent, until its time is over.
          client.loop.execute {
            let end = ContinuousClock.now + .milliseconds(1100)
            while ContinuousClock.now < end { usleep(10_000) }
          }
          #expect(try await group.next() == 5_000_000)
        }
      }
    }
  }

  @Test func aKilledServerIsSurvived() async throws {
    try await withRedis(configure: { $0.connectTimeout = .milliseconds(500) }) { server, client async throws in
      let started = Locked(0)
      let restarted = Locked(false)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<16 {
          group.addTask(executorPreference: task % 2 == 0 ? client.loop.taskExecutor : nil) {
            var isLast = false
            while true {
              // Read before sending: only a command sent after the restart shows that the client recovered.
              isLast = restarted.withLock { $0 }
              let error = await redisError { () throws(RedisError) in try await client.send(RedisCommand("ECHO", task))
              }
              started.withLock { $0 += 1 }
              if let error { #expect(error.code == .connection, "\(error)") }
              if isLast, error == nil { break }
            }
          }
        }
        try await eventually { started.withLock { $0 } > 1000 }
        await server.kill9()
        let before = started.withLock { $0 }
        try await eventually { started.withLock { $0 } > before + 16 }
        try await server.start()
        restarted.withLock { $0 = true }
        try await group.waitForAll()
      }
    }
  }

  @Test func whatWasOnItsWayFailsAndIsNotSentAgain() async throws {
    var options = PrivateRedis.Options()
    options.appendOnly = true
    options.settings["appendfsync"] = "always"
    try await withRedis(options) { server, client async throws in
      try await client.send(RedisCommand("SET", "n", 0))
      await server.freeze()
      await withTaskGroup(of: RedisError?.self) { group in
        group.addTask(executorPreference: client.loop.taskExecutor) {
          await redisError { () throws(RedisError) in try await client.send(RedisCommand("INCR", "n")) }
        }
        await client.loop.twoTurns()
        await server.kill9()
        #expect(await group.next()??.code == .connection)
      }
      try await server.start()
      #expect(try await retrying { () throws(RedisError) in try await client.send(RedisCommand("GET", "n")) }.int == 0)
    }
  }

  @Test func withoutAServerCommandsFailAfterTheirWait() async throws {
    let server = try await PrivateRedis.start()
    var configuration = try patient(server.url)
    configuration.connectTimeout = .milliseconds(300)
    configuration.waitingLimit = 10
    await server.stop()
    try await withClient(configuration) { client async throws in
      let errors = await withTaskGroup(of: RedisError?.self) { group in
        for _ in 0..<30 {
          group.addTask { await redisError { () throws(RedisError) in try await client.send(RedisCommand("PING")) } }
        }
        return await group.reduce(into: [RedisError?]()) { $0.append($1) }
      }
      #expect(errors.allSatisfy { $0?.code == .connection })
      #expect(errors.contains { $0?.message.contains("are already waiting for it") == true })
      #expect(errors.contains { $0?.message.contains("waited") == true })
      try await server.start()
      #expect(
        try await retrying { () throws(RedisError) in try await client.send(RedisCommand("PING")) }.text == "PONG")
    }
    await server.stop()
  }

  @Test func aCommandSentBeforeTheConnectionStandsWaitsForIt() async throws {
    let server = try await PrivateRedis.start()
    let configuration = try patient(server.url)
    await server.stop()
    try await withClient(configuration) { client async throws in
      async let early = client.send(RedisCommand("ECHO", "early"))
      try await server.start()
      #expect(try await early.text == "early")
    }
    await server.stop()
  }

  @Test func aStoppedClientFailsWhatComesLater() async throws {
    let server = try await PrivateRedis.start()
    let loop = EventLoop()
    let client = RedisClient(configuration: try patient(server.url), loop: loop, logger: .quiet)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await client.run() }
      _ = await redisError { () throws(RedisError) in try await client.send(RedisCommand("PING")) }
      group.cancelAll()
    }
    let error = await redisError { () throws(RedisError) in try await client.send(RedisCommand("PING")) }
    #expect(error?.code == .closed)
    loop.stop()
    await server.stop()
  }

  @Test func aServerThatLoadsIsNotReadyYet() async throws {
    var options = PrivateRedis.Options()
    options.appendOnly = true
    // Loads slowly enough that a client connects meanwhile.
    options.settings["key-load-delay"] = "20"
    options.settings["loading-process-events-interval-bytes"] = "1024"
    try await withRedis(options, configure: { $0.connectTimeout = .seconds(60) }) { server, client async throws in
      try await client.send(RedisCommand("EVAL", "for i = 1, 5000 do redis.call('SET', 'key' .. i, i) end", 0))
      await server.kill9()
      async let started: Void = server.start()
      let value = try await retrying { () throws(RedisError) in try await client.send(RedisCommand("GET", "key5000")) }
      #expect(value.int == 5000)
      try await started
    }
  }

  /// Retries as long as the connection fails.
  private func retrying<Output>(_ body: () async throws(RedisError) -> Output) async throws -> Output {
    while true {
      do throws(RedisError) {
        return try await body()
      } catch {
        guard error.code == .connection || error.code == .timeout else { throw error }
      }
      try await Task.sleep(for: .milliseconds(2))
    }
  }
}

extension EventLoop {
  /// Waits until earlier work on the loop has run and its output has been sent.
  fileprivate func twoTurns() async {
    for _ in 0..<2 { await withCheckedContinuation { next in execute { next.resume() } } }
  }
}
