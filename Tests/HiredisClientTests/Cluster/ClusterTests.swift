import Foundation
import Locking
import PrivateServers
import Reactor
import TestSupport
import Testing

@testable import HiredisClient

/// A client of a real cluster: three masters, three replicas.
@Suite(.timeLimit(.minutes(3)), .serialized) struct ClusterTests {
  private func withCluster(
    _ body: @Sendable (PrivateRedisCluster, RedisClient) async throws -> Void
  ) async throws {
    let cluster = try await PrivateRedisCluster.start()
    try await withClient(try patient(cluster.url)) { try await body(cluster, $0) }
    await cluster.stop()
  }

  /// Moves the slot of `key` to another node.
  private func migrate(
    _ key: String, _ cluster: PrivateRedisCluster, between body: (_ haveKeysMoved: Bool) async throws -> Void = { _ in }
  ) async throws {
    let slot = HashSlot.of(key)
    let from = try #require(try await cluster.master(of: slot, seenBy: 0))
    try await cluster.move(slot, from: from, to: (from + 1) % cluster.masterCount, between: body)
  }

  @Test func everyCommandFindsItsMaster() async throws {
    try await withCluster { cluster, client in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<20 {
          group.addTask(executorPreference: task % 2 == 0 ? client.loop.taskExecutor : nil) {
            for number in 0..<50 {
              try await client.send(RedisCommand("SET", "key\(task)-\(number)", number))
              #expect(try await client.send(RedisCommand("GET", "key\(task)-\(number)")).int == number)
            }
          }
        }
        try await group.waitForAll()
      }
      // Each master has its share, and no key is anywhere else.
      let sizes = try await client.sendToMasters([RedisCommand("DBSIZE")]).compactMap { $0.replies[0].int }
      #expect(sizes.count == 3 && sizes.allSatisfy { $0 > 200 } && sizes.reduce(0, +) == 1000, "\(sizes)")
      #expect(try await client.topology().uncoveredSlots == 0)
      // A replica is listed once its master knows its offset.
      try await eventually { try await client.topology().masters.map(\.replicas) == [1, 1, 1] }
    }
  }

  @Test func aPipelineOverAllMastersKeepsItsOrder() async throws {
    try await withCluster { _, client in
      _ = try await client.send(pipeline: (0..<300).map { RedisCommand("SET", "p\($0)", $0) })
      let results = try await client.send(
        pipeline: (0..<300).flatMap { [RedisCommand("GET", "p\($0)"), RedisCommand("PING")] })
      for number in 0..<300 {
        #expect(try results[2 * number].get().int == number)
        #expect(try results[2 * number + 1].get().text == "PONG")
      }
    }
  }

  @Test func scriptsAreKnownToEachNodeThatNeedsThem() async throws {
    try await withCluster { _, client in
      let script = RedisScript("return {KEYS[1], ARGV[1]} -- \(UUID())")
      for number in 0..<30 {
        let reply = try await client.evaluate(script, keys: ["s\(number)"], arguments: [number])
        #expect(reply.elements?.last?.int == number)
      }
      let other = RedisScript("return redis.call('INCR', KEYS[1]) -- \(UUID())")
      let command = other.command(keys: ["counter"])
      #expect(await redisError { () throws(RedisError) in try await client.send(command) }?.serverPrefix == "NOSCRIPT")
      #expect(try await client.send(other.commandWithSource(keys: ["counter"])).int == 1)
      #expect(try await client.send(command).int == 2)
    }
  }

  @Test func keysOfTwoSlotsInOneCommandAreRefused() async throws {
    try await withCluster { _, client async throws in
      let error = await redisError { () throws(RedisError) in try await client.send(RedisCommand("MGET", "a", "b")) }
      #expect(error?.serverPrefix == "CROSSSLOT")
    }
  }

  @Test func aSlotThatMovesIsFollowed() async throws {
    try await withCluster { cluster, client in
      for number in 0..<20 { try await client.send(RedisCommand("SET", "{m}\(number)", number)) }
      let isOver = Locked(false)
      let counted = Locked(0)
      try await withThrowingTaskGroup(of: Void.self) { group in
        // Continuous writers: no command may fail, and none may be carried out twice.
        for task in 0..<4 {
          group.addTask(executorPreference: client.loop.taskExecutor) {
            while !isOver.withLock({ $0 }) {
              try await client.send(RedisCommand("INCR", "{m}counter\(task)"))
              counted.withLock { $0 += 1 }
            }
          }
        }
        try await migrate("{m}", cluster) { haveKeysMoved in
          // Existing keys are answered by the old master, missing ones by the new one, which must be asked (ASK).
          #expect(try await client.send(RedisCommand("GET", "{m}7")).int == 7)
          let fresh = "{m}fresh\(haveKeysMoved)"
          try await client.send(RedisCommand("SET", fresh, "x"))
          #expect(try await client.send(RedisCommand("GET", fresh)).text == "x")
          let results = try await client.send(
            pipeline: [RedisCommand("GET", "{m}3"), RedisCommand("GET", fresh), RedisCommand("GET", "elsewhere")])
          #expect(try results.map { try $0.get().text } == ["3", "x", nil])
        }
        // From here on the slot belongs to the other master (MOVED).
        #expect(try await client.send(RedisCommand("GET", "{m}7")).int == 7)
        let results = try await client.send(pipeline: (0..<20).map { RedisCommand("GET", "{m}\($0)") })
        #expect(try results.map { try $0.get().int } == Array(0..<20))
        isOver.withLock { $0 = true }
        try await group.waitForAll()
      }
      var sum = 0
      for task in 0..<4 { sum += try await client.send(RedisCommand("GET", "{m}counter\(task)")).int ?? 0 }
      #expect(sum == counted.withLock { $0 })
    }
  }

  @Test func keysThatAreApartForAMomentAreWaitedFor() async throws {
    try await withCluster { cluster, client in
      try await client.send(RedisCommand("MSET", "{t}a", 1, "{t}b", 2))
      let slot = HashSlot.of("{t}")
      let from = try #require(try await cluster.master(of: slot, seenBy: 0))
      let to = (from + 1) % 3
      try await cluster.beginMove(of: slot, from: from, to: to)
      try await cluster.moveKey("{t}a", from: from, to: to)
      // Neither master has both (TRYAGAIN).
      let error = await redisError { () throws(RedisError) in
        try await client.send(RedisCommand("MGET", "{t}a", "{t}b"), timeout: .milliseconds(300))
      }
      #expect(error?.serverPrefix == "TRYAGAIN")
      async let both = client.send(RedisCommand("MGET", "{t}a", "{t}b"))
      try await cluster.moveKey("{t}b", from: from, to: to)
      try await cluster.endMove(of: slot, from: from, to: to)
      #expect(try await both.elements?.map(\.int) == [1, 2])
    }
  }

  @Test func aMasterThatIsKilledIsReplaced() async throws {
    try await withCluster { cluster, client in
      try await client.send(RedisCommand("SET", "{k}", "kept"))
      let slot = HashSlot.of("{k}")
      let victim = try #require(try await cluster.master(of: slot, seenBy: 0))
      // Writes that the replica lacks are lost with its master, which is not under test here.
      try await eventually { try await cluster.nodes[victim + 3].run("DBSIZE") == "1" }
      let start = ContinuousClock.now
      await cluster.nodes[victim].kill9()
      try await eventually {
        do throws(RedisError) {
          return try await client.send(RedisCommand("GET", "{k}"), timeout: .seconds(60)).text == "kept"
        } catch {
          // Commands in flight when the connection broke, and commands that waited too long.
          #expect(error.code == .connection, "\(error)")
          return false
        }
      }
      print("cluster: a killed master was replaced after \(ContinuousClock.now - start)")
      try await client.send(RedisCommand("SET", "{k}", "written"))
      try await eventually { try await client.topology().masters.map(\.replicas).sorted() == [0, 1, 1] }
      // It returns as a replica of its successor, and the client is not misled.
      try await cluster.nodes[victim].start()
      try await eventually { try await client.topology().masters.map(\.replicas) == [1, 1, 1] }
      #expect(try await client.send(RedisCommand("GET", "{k}")).text == "written")
    }
  }

  @Test func aConnectionOfItsOwnIsToTheMasterOfItsKey() async throws {
    try await withCluster { cluster, client in
      for key in ["{a}", "{b}", "{c}", "{d}"] {
        let connection = try await client.dedicatedConnection(for: key, commandTimeout: .seconds(60))
        try await connection.send(RedisCommand("SET", key, "x"))
        let id = try await connection.send(RedisCommand("CLIENT", "ID")).int ?? 0
        let isBack = Locked(false)
        async let blocked: Void = { () async throws in
          let reply = try await connection.send(RedisCommand("BLPOP", "\(key)list", 0))
          #expect(reply.isNull)
          isBack.withLock { $0 = true }
        }()
        // Repeated until it succeeds: the connection may not block yet.
        try await eventually {
          try await client.unblock(connection, clientID: id)
          return isBack.withLock { $0 }
        }
        try await blocked
        await connection.close()
      }
      let connection = try await client.dedicatedConnection(for: "{m}", commandTimeout: .seconds(60))
      try await migrate("{m}", cluster)
      let error = await redisError { () throws(RedisError) in try await connection.send(RedisCommand("GET", "{m}")) }
      #expect(error?.meansAnotherServer == true)
      await connection.close()
    }
  }

  @Test func aServerOfItsOwnIsNoCluster() async throws {
    var options = PrivateRedis.Options()
    options.port = 0
    let server = try await PrivateRedis.start(options: options)
    try await withClient(try patient("redis+cluster://127.0.0.1:\(server.port ?? 0)")) { client async throws in
      let error = await redisError { () throws(RedisError) in try await client.send(RedisCommand("GET", "x")) }
      #expect(error?.code == .configuration)
      #expect(error?.message.contains("not a cluster node; use redis://") == true, "\(error?.message ?? "")")
    }
    await server.stop()
  }

  @Test func withoutAnyNodeCommandsFailAfterTheirWait() async throws {
    let port = try FreePort.find()
    var configuration = try RedisConfiguration(url: "redis+cluster://127.0.0.1:\(port)")
    configuration.commandTimeout = .milliseconds(300)
    try await withClient(configuration) { client async throws in
      let error = await redisError { () throws(RedisError) in try await client.send(RedisCommand("GET", "x")) }
      #expect(error?.code == .connection)
      let errors = await redisError { () throws(RedisError) in
        try await client.send(pipeline: [RedisCommand("GET", "x"), RedisCommand("PING")])
      }
      #expect(errors?.code == .connection)
      #expect(errors?.message.contains("127.0.0.1:\(port)") == true)
    }
  }

  @Test func aStoppedClientFailsWhatComesLater() async throws {
    let cluster = try await PrivateRedisCluster.start()
    let loop = EventLoop()
    let client = RedisClient(configuration: try patient(cluster.url), loop: loop, logger: .quiet)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await client.run() }
      _ = await redisError { () throws(RedisError) in try await client.send(RedisCommand("GET", "x")) }
      group.cancelAll()
    }
    let error = await redisError { () throws(RedisError) in try await client.send(RedisCommand("GET", "x")) }
    #expect(error?.code == .closed)
    loop.stop()
    await cluster.stop()
  }
}
