import DurableJobs
import DurableJobsRedis
import DurableJobsTesting
import HiredisClient
import JobsTestSupport
import Locking
import PrivateServers
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ConsumerTests {
  private func claim(_ count: Int, _ consumer: RedisConsumer) async throws -> [Claim] {
    var claims: [Claim] = []
    try await eventually("\(count) jobs to claim") {
      do {
        claims += try await consumer.claim(count - claims.count, wait: .milliseconds(50))
      } catch let error as BrokerError where error.code == .unavailable {}
      return claims.count >= count
    }
    return claims
  }

  /// Redis hands jobs out in a reply. If the reply is lost with its connection, they are this worker's without its
  /// knowing. A refusal does not tell it that there are none, either.
  @Test(arguments: [false, true])
  func claimsWhoseReplyWasLostAreFound(isRefusedFirst: Bool) async throws {
    let server = try await PrivateRedis.start()
    try await RedisFixture.with(server: server) { fixture in
      let consumer = try await fixture.broker.join(.default, worker: "w", lease: .seconds(120))
      try await fixture.broker.push((0..<3).map { .test("\($0)") })
      let held = try await claim(3, consumer)

      try await fixture.broker.push((3..<8).map { .test("\($0)", priority: $0 % 2 == 0 ? .low : .normal) })
      let streams = ["high", "normal", "low"].map { "\(fixture.prefix):{default}:\($0)" }
      _ = try await fixture.client.send(
        RedisCommand(
          "XREADGROUP", "GROUP", "workers", "w", "COUNT", 10, "STREAMS", streams[0], streams[1], streams[2], ">", ">",
          ">"))
      #expect(try await fixture.broker.depth(of: .default).claimed == 8)
      #expect(try await consumer.claim(10, wait: .milliseconds(1)).isEmpty)

      _ = try await fixture.client.send(RedisCommand("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"))
      if isRefusedFirst {
        // The first claim finds the connection closed, the next is refused by the server.
        do { #expect(try await consumer.claim(10, wait: .milliseconds(1)).isEmpty) } catch is BrokerError {}
        try await server.run("CONFIG", "SET", "min-replicas-to-write", "1")
        await #expect(throws: BrokerError.self) { try await consumer.claim(10, wait: .milliseconds(1)) }
        try await server.run("CONFIG", "SET", "min-replicas-to-write", "0")
      }
      let found = try await claim(5, consumer)
      #expect(Set(found.map(\.record.text)) == ["3", "4", "5", "6", "7"])
      try await consumer.acknowledge(held + found)
      #expect(
        try await fixture.broker.depth(of: .default).counts
          == QueueCounts(workers: 1))
      // Normal claims work again.
      try await fixture.broker.push([.test("next")])
      #expect(try await claim(1, consumer).map(\.record.text) == ["next"])
    }
    await server.stop()
  }

  /// Otherwise a job that kills its worker would use up, attempt by attempt, all jobs claimed with it.
  @Test func jobsThatWereInTwoDyingWorkersHandsPartWays() async throws {
    try await RedisFixture.with { fixture in
      let alive = try await fixture.broker.join(.default, worker: "alive", lease: .seconds(120))
      let all = (0..<60).map { "\($0)" }
      try await fixture.broker.push(all.map { .test($0) })
      for life in 1...2 {
        let dying = try await fixture.broker.join(.default, worker: "dying\(life)", lease: .milliseconds(100))
        let held = try await claim(60, dying)
        #expect(held.allSatisfy { $0.attempt == life })
        #expect(try await dying.begin(held).count == 60)
        try await eventually("what it held is handed on") {
          _ = try await alive.heartbeat()
          return try await fixture.broker.depth(of: .default).claimed == 0
        }
        let after = try await fixture.broker.depth(of: .default)
        #expect(life == 1 ? after.ready == 60 : after.ready < 60 && after.ready + after.delayed == 60)
      }
      var dues: Set<String> = []
      for member in try await fixture.client.send(
        RedisCommand("ZRANGE", "\(fixture.prefix):{default}:timers", 0, -1, "WITHSCORES")
      ).elements ?? [] {
        if let text = member.text { dues.insert(text) }
      }
      // Members and scores; few of 60 fall into the same millisecond of a second.
      #expect(dues.count > 90)
      var again: [Claim] = []
      try await eventually("all come again") {
        _ = try await alive.heartbeat()
        again += try await alive.claim(60, wait: .milliseconds(1))
        return again.count == 60
      }
      #expect(Set(again.map(\.record.text)) == Set(all))
      #expect(again.allSatisfy { $0.attempt == 3 })
      try await alive.acknowledge(again)
      #expect(
        try await fixture.broker.depth(of: .default).counts
          == QueueCounts(workers: 1))
    }
  }

  @Test func anEntryThatIsNoJobStopsNobody() async throws {
    try await RedisFixture.with { fixture in
      let dead = try await fixture.broker.join(.default, worker: "dead", lease: .milliseconds(100))
      let alive = try await fixture.broker.join(.default, worker: "alive", lease: .seconds(120))
      let stream = "\(fixture.prefix):{default}:high"
      for fields in [["j", ""], ["j", "short"], ["j", String(repeating: "x", count: 40)], ["a", "b", "c", "d"]] {
        var command = RedisCommand("XADD", stream, "*")
        for field in fields { command.append(field) }
        _ = try await fixture.client.send(command)
      }
      try await fixture.broker.push([.test("good")])
      #expect(try await claim(1, dead).map(\.record.text) == ["good"])
      var reaped = 0
      try await eventually("the good job is handed on") {
        reaped += try await alive.heartbeat().reaped
        return reaped > 0
      }
      #expect(try await claim(1, alive).map(\.record.text) == ["good"])
      #expect(try await alive.heartbeat().keptLease)
      try await alive.leave()
      #expect(try await fixture.broker.depth(of: .default).workers == 0)
    }
  }

  /// A consumer without a lease, such as one whose read was answered late, is found by the consumers that have one.
  @Test func aConsumerWithoutALeaseIsReaped() async throws {
    try await RedisFixture.with { fixture in
      let alive = try await fixture.broker.join(.default, worker: "alive", lease: .seconds(120))
      try await fixture.broker.push([.test()])
      _ = try await fixture.client.send(
        RedisCommand(
          "XREADGROUP", "GROUP", "workers", "ghost", "COUNT", 10, "STREAMS", "\(fixture.prefix):{default}:normal", ">"))
      #expect(try await fixture.broker.depth(of: .default).claimed == 1)
      var reaped = 0
      try await eventually("the ghost is found") {
        reaped += try await alive.heartbeat().reaped
        return reaped == 1
      }
      #expect(try await claim(1, alive).map(\.attempt) == [1], "it never began")
    }
  }

  /// For a read still in progress, Redis re-creates a consumer whose lease has ended. The first heartbeat of any
  /// consumer in each third of a lease finds the jobs that it was handed.
  @Test func claimsWithoutALeaseAreSoonHandedOn() async throws {
    try await RedisFixture.with { fixture in
      let alive = try await fixture.broker.join(.default, worker: "alive", lease: .seconds(6))
      #expect(try await alive.heartbeat().keptLease)
      let frozen = try await fixture.broker.join(.default, worker: "frozen", lease: .milliseconds(50))
      for number in 1...3 {
        try await eventually("the frozen consumer has no lease") {
          _ = try await alive.heartbeat()
          return try await fixture.broker.depth(of: .default).workers == 1
        }
        try await fixture.broker.push([.test("\(number)")])
        #expect(try await claim(1, frozen).count == 1)
        var reaped = 0
        try await eventually("its claim is handed on") {
          reaped += try await alive.heartbeat().reaped
          return reaped == 1
        }
        let again = try await claim(1, alive)
        #expect(again.map(\.attempt) == [1] && again.map(\.record.text) == ["\(number)"])
        try await alive.acknowledge(again)
      }
    }
  }

  /// A reply is lost on a connection that stays open: the worker lives, renews its lease, and does not know of the
  /// claim.
  @Test func claimsThatNeverArriveAtALivingWorkerRun() async throws {
    struct Lost: Job {
      static let kind: JobKind = "test.lost"
      var number: Int
    }
    try await RedisFixture.with { fixture in
      let (ledger, ran) = (InMemoryLedger(), Locked<[Int]>([]))
      var registry = JobRegistry<InMemoryLedger>()
      registry.register(Lost.self) { job, _ in ran.withLock { $0.append(job.number) } }
      var configuration = WorkerConfiguration(queues: [.default: 2])
      configuration.lease = .milliseconds(900)
      configuration.heartbeat = .milliseconds(50)
      let worker = Worker(
        broker: fixture.broker, ledger: ledger, registry: registry, configuration: configuration, logger: .quiet)
      try await RunningWorker.run(worker) { [name = configuration.name] _ in
        try await eventually("the worker has joined") {
          try await fixture.broker.depth(of: .default).workers == 1
        }
        // Handed to the worker in replies that another client reads, in one step with their arrival, so the worker
        // cannot claim them first.
        let client = JobClient(broker: fixture.broker, ledger: ledger, logger: .quiet)
        try await client.push((0..<3).map { Lost(number: $0) }, options: JobOptions(queue: "elsewhere"))
        let elsewhere = try await fixture.client.send(
          RedisCommand("XRANGE", "\(fixture.prefix):{elsewhere}:normal", "-", "+"))
        for entry in elsewhere.elements ?? [] {
          let record = try #require(entry.elements?[1].elements?[1].bytes)
          let stolen = try await fixture.client.send(
            RedisCommand(
              "EVAL",
              """
              redis.call('XADD', KEYS[1], '*', 'j', ARGV[1])
              return #redis.call('XREADGROUP', 'GROUP', 'workers', ARGV[2], 'COUNT', 10, 'STREAMS', KEYS[1], '>')
              """, 1, "\(fixture.prefix):{default}:normal", record, name))
          #expect(stolen.int == 1)
        }
        try await eventually("all run") { ran.withLock { $0.sorted() } == [0, 1, 2] }
        try await eventually("nothing is left") {
          try await fixture.broker.depth(of: .default).claimed == 0
        }
      }
      #expect(ran.withLock { $0.count } == 3, "none twice")
    }
  }

  @Test func anOperatorCanPromoteADelayedJob() async throws {
    try await RedisFixture.with { fixture in
      let consumer = try await fixture.broker.join(.default, worker: "w", lease: .seconds(120))
      let delayed = JobRecord.test(runAt: JobID.next().milliseconds + 3_600_000)
      try await fixture.broker.push([delayed])
      #expect(try await fixture.broker.promote([.next(), delayed.id], in: .default) == [delayed.id])
      #expect(try await fixture.broker.promote([delayed.id], in: .default).isEmpty)
      let claims = try await claim(1, consumer)
      #expect(claims.map(\.record.id) == [delayed.id])
      try await consumer.acknowledge(claims)
      #expect(try await fixture.broker.missing([delayed.id], in: .default) == [delayed.id])
      #expect(
        try await fixture.broker.depth(of: .default).counts
          == QueueCounts(workers: 1))
    }
  }
}
