import HiredisClient
import Locking
import PrivateServers
import Reactor
import TestSupport
import Testing

/// A client that finds its master through real sentinels: one master, two replicas, three sentinels.
@Suite(.timeLimit(.minutes(3)), .serialized) struct SentinelTests {
  /// Sends again as long as the connection fails.
  @discardableResult
  private func retrying<Output>(_ body: () async throws(RedisError) -> Output) async throws -> Output {
    while true {
      do throws(RedisError) {
        return try await body()
      } catch {
        guard [.connection, .timeout].contains(error.code) || error.serverPrefix == "READONLY" else { throw error }
      }
      try await Task.sleep(for: .milliseconds(2))
    }
  }

  @Test func findsTheMasterAndItsSuccessorWhenItIsKilled() async throws {
    let group = try await PrivateSentinels.start()
    try await withClient(try patient(group.url)) { client in
      try await client.send(RedisCommand("SET", "k", "kept"))
      let topology = try await client.topology()
      #expect(topology.masters.map(\.replicas) == [2])
      #expect(topology.sentinels?.named == 3 && topology.sentinels?.reachable == 3)
      #expect(topology.sentinels?.quorum?.hasPrefix("OK 3 usable") == true)
      for replica in group.servers.dropFirst() { try await eventually { try await replica.run("DBSIZE") == "1" } }
      let start = ContinuousClock.now
      await group.servers[0].kill9()
      let value = try await retrying { () throws(RedisError) in try await client.send(RedisCommand("GET", "k")) }
      print("sentinel: a killed master was replaced after \(ContinuousClock.now - start)")
      #expect(value.text == "kept")
      try await retrying { () throws(RedisError) in try await client.send(RedisCommand("SET", "k", "written")) }
      // A sentinel that has not been notified yet still names the old master.
      let connection = try await retrying { () throws(RedisError) in
        try await client.dedicatedConnection(commandTimeout: .seconds(60))
      }
      #expect(try await connection.send(RedisCommand("ROLE")).elements?.first?.text == "master")
      await connection.close()
      // With one sentinel fewer, enough remain.
      await group.sentinels[0].kill9()
      let another = try await retrying { () throws(RedisError) in
        try await client.dedicatedConnection(commandTimeout: .seconds(60))
      }
      #expect(try await another.send(RedisCommand("ROLE")).elements?.first?.text == "master")
      await another.close()
      #expect(try await client.topology().sentinels?.reachable == 2)
    }
    await group.stop()
  }

  @Test func aDemotedMasterIsLeft() async throws {
    let group = try await PrivateSentinels.start(replicas: 1, downAfter: 60_000)
    try await withClient(try patient(group.url)) { client in
      try await client.send(RedisCommand("SET", "k", 0))
      // Promoted by hand, without the sentinels: connections stay open, and the next write is refused.
      let port = try #require(group.servers[1].port)
      try await group.servers[1].run("REPLICAOF", "NO", "ONE")
      try await group.servers[0].run("REPLICAOF", "127.0.0.1", "\(port)")
      let error = await redisError { () throws(RedisError) in try await client.send(RedisCommand("SET", "k", 1)) }
      #expect(error?.serverPrefix == "READONLY" && error?.meansAnotherServer == true, "\(String(describing: error))")
      // The sentinels correct it only later; until then the server that they name reports that it is no master.
      for sentinel in group.sentinels { try await group.ask(sentinel, "SENTINEL", "REMOVE", PrivateSentinels.name) }
      for sentinel in group.sentinels {
        try await group.ask(sentinel, "SENTINEL", "MONITOR", PrivateSentinels.name, "127.0.0.1", "\(port)", "2")
      }
      try await retrying { () throws(RedisError) in try await client.send(RedisCommand("SET", "k", 2)) }
      #expect(try await group.servers[1].run("GET", "k") == "2")
    }
    await group.stop()
  }

  @Test func aFailoverByHandIsFollowed() async throws {
    let group = try await PrivateSentinels.start(replicas: 1)
    try await withClient(try patient(group.url)) { client in
      try await client.send(RedisCommand("SET", "k", 0))
      try await eventually { try await group.servers[1].run("DBSIZE") == "1" }
      // Repeated until the sentinel agrees: a replica must have been seen in sync a moment ago.
      try await eventually {
        do {
          try await group.ask(group.sentinels[0], "SENTINEL", "FAILOVER", PrivateSentinels.name)
          return true
        } catch let error as PrivateServerError where error.message.contains("NOGOODSLAVE") {
          return false
        }
      }
      try await eventually { try await group.servers[1].run("ROLE").hasPrefix("master") }
      try await eventually {
        try await retrying { () throws(RedisError) in try await client.send(RedisCommand("INCR", "k")) }
        return try await group.servers[1].run("GET", "k") != "0"
      }
    }
    await group.stop()
  }

  @Test func logsInToServersAndSentinels() async throws {
    let group = try await PrivateSentinels.start(replicas: 1, password: "server-pw", sentinelPassword: "sentinel-pw")
    try await withClient(try patient(group.url)) { client async throws in
      #expect(try await client.send(RedisCommand("PING")).text == "PONG")
    }
    let bare = "redis+sentinel://127.0.0.1:\(group.sentinels[0].port)/fanmill"
    for (url, part) in [
      (bare, "?sentinel_password="), (bare + "?sentinel_password=wrong", "sentinels have a separate login"),
      (bare + "?sentinel_password=sentinel-pw", "requires a password"),
    ] {
      try await withClient(try patient(url)) { client async throws in
        let error = await redisError { () throws(RedisError) in try await client.send(RedisCommand("PING")) }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
      }
    }
    await group.stop()
  }

  @Test func saysWhatIsWrong() async throws {
    let group = try await PrivateSentinels.start(replicas: 1)
    let other = "redis+sentinel://127.0.0.1:\(group.sentinels[0].port)/other"
    try await withClient(try patient(other)) { client async throws in
      let error = await redisError { () throws(RedisError) in try await client.send(RedisCommand("PING")) }
      #expect(error?.code == .configuration)
      #expect(error?.message.contains("know no master \"other\"") == true, "\(error?.message ?? "")")
    }
    await group.stop()
    var configuration = try RedisConfiguration(url: group.url)
    configuration.connectTimeout = .milliseconds(300)
    try await withClient(configuration) { client async throws in
      let error = await redisError { () throws(RedisError) in try await client.send(RedisCommand("PING")) }
      #expect(error?.code == .connection)
      #expect(
        error?.message.contains("no sentinel of") == true || error?.message.contains("not connected yet") == true,
        "\(error?.message ?? "")")
    }
  }
}
