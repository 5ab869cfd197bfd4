import DurableJobs
import DurableJobsRedis
import DurableJobsTesting
import HiredisClient
import JobsTestSupport
import Locking
import PrivateServers
import TestSupport
import Testing

/// A queue's slot moves from one master of a cluster to another, a step at a time. Between the steps the test tries
/// every operation of a worker.
@Suite(.timeLimit(.minutes(5)), .serialized) struct SlotMoveTests {
  private static let queue: QueueName = "moving"

  /// A queue on a cluster, with the steps of its slot's move.
  private struct Scene: Sendable {
    let cluster: PrivateRedisCluster
    let fixture: RedisFixture
    let slot: Int
    let from: Int
    var to: Int { (from + 1) % cluster.masterCount }
    var broker: RedisBroker { fixture.broker }

    func begin() async throws { try await cluster.beginMove(of: slot, from: from, to: to) }
    func end() async throws { try await cluster.endMove(of: slot, from: from, to: to) }
    func keys() async throws -> [String] { try await cluster.keys(in: slot, of: from).sorted() }
    func move(_ key: String) async throws { try await cluster.moveKey(key, from: from, to: to) }
    func depth() async throws -> QueueDepth { try await broker.depth(of: SlotMoveTests.queue) }
  }

  /// - Parameter commandTimeout: short enough that a command which has to wait for the end of a move fails before it.
  private func with(
    commandTimeout: Duration? = nil, _ body: @Sendable (Scene) async throws -> Void
  ) async throws {
    // The timeout keeps a busy machine from having a node declared dead: a failover would be another test.
    let cluster = try await PrivateRedisCluster.start(replicasEach: 0, nodeTimeout: 15_000)
    try await RedisFixture.with(url: cluster.url, commandTimeout: commandTimeout) { fixture in
      let slot = try #require(Int(try await cluster.nodes[0].run("CLUSTER", "KEYSLOT", "{\(Self.queue)}")))
      let from = try #require(try await cluster.master(of: slot, seenBy: 0))
      try await body(Scene(cluster: cluster, fixture: fixture, slot: slot, from: from))
    }
    await cluster.stop()
  }

  /// A worker's request to its broker, retried until it succeeds.
  private enum Request {
    case push(JobRecord)
    case acknowledge(Claim)
    case retry(Claim)
    case release(Claim)
    case heartbeat
  }

  /// A consumer used as a worker does: claims of an earlier incarnation are handed back, and come again.
  private struct Hand {
    let scene: Scene
    let consumer: RedisConsumer
    /// Claimed and not settled.
    var held: [Claim] = []
    var waiting: [Request] = []
    var refusals: Set<String> = []
    var deliveries: [JobID: Int] = [:]
    /// How often each has to be delivered.
    var expected: [JobID: Int] = [:]
    /// Pushed without a record, and so possibly twice.
    var doubtful: Set<JobID> = []
    private var incarnation = 0

    init(_ scene: Scene, _ consumer: RedisConsumer) {
      self.scene = scene
      self.consumer = consumer
    }

    mutating func push(_ record: JobRecord) {
      expected[record.id] = 1
      waiting.append(.push(record))
    }

    mutating func claim(_ count: Int) async throws {
      do {
        let claims = try await consumer.claim(count, wait: .milliseconds(1))
        for claim in claims { deliveries[claim.record.id, default: 0] += 1 }
        held += claims
      } catch let error as BrokerError {
        try note(error)
      }
    }

    /// Settles one claim each way.
    mutating func settleSome() {
      if let claim = held.popLast() { waiting.append(.acknowledge(claim)) }
      if let claim = held.popLast() {
        expected[claim.record.id, default: 0] += 1
        waiting.append(.retry(claim))
      }
      if let claim = held.popLast() {
        expected[claim.record.id, default: 0] += 1
        waiting.append(.release(claim))
      }
    }

    /// Sends the requests that have not succeeded yet all at once, with a heartbeat.
    mutating func go() async throws {
      let (broker, consumer) = (scene.broker, consumer)
      let outcomes = try await withThrowingTaskGroup(of: (Request, Heartbeat?, BrokerError?).self) { group in
        for request in waiting + [.heartbeat] {
          group.addTask {
            do {
              switch request {
              case .push(let record): try await broker.push([record])
              case .acknowledge(let claim): try await consumer.acknowledge([claim])
              case .retry(let claim):
                try await consumer.retry([ClaimRetry(claim: claim, delay: .zero, record: claim.record)])
              case .release(let claim): try await consumer.release([claim])
              case .heartbeat: return (request, try await consumer.heartbeat(), nil)
              }
              return (request, nil, nil)
            } catch let error as BrokerError {
              return (request, nil, error)
            }
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      waiting = []
      for (request, heartbeat, error) in outcomes {
        if let heartbeat, heartbeat.incarnation != incarnation {
          incarnation = heartbeat.incarnation
          for claim in held { expected[claim.record.id, default: 0] += 1 }
          waiting += held.map { .release($0) }
          held = []
        }
        guard let error else { continue }
        let isLate = try note(error)
        switch request {
        case .heartbeat: continue
        case .push(let record) where isLate && !record.isDurable: doubtful.insert(record.id)
        default: break
        }
        waiting.append(request)
      }
    }

    /// Accepts only the refusals of a move, and timeouts on a busy machine.
    ///
    /// - Returns: whether the request may have been carried out.
    @discardableResult
    private mutating func note(_ error: BrokerError) throws -> Bool {
      guard let cause = error.underlying as? RedisError else { throw error }
      if cause.code != .server { return true }
      guard let prefix = cause.serverPrefix, ["TRYAGAIN", "ASK", "MOVED"].contains(prefix) else { throw error }
      refusals.insert(prefix)
      return false
    }

    /// Claims and acknowledges until each job has been delivered the expected number of times, and none is left.
    mutating func finish() async throws {
      try await eventually("what was refused succeeds") {
        try await go()
        return waiting.isEmpty
      }
      try await eventually("each job comes") {
        try await claim(10)
        while let claim = held.popLast() { waiting.append(.acknowledge(claim)) }
        try await go()
        return waiting.isEmpty && deliveries.values.reduce(0, +) >= expected.values.reduce(0, +)
      }
      #expect(deliveries.filter { !doubtful.contains($0.key) } == expected.filter { !doubtful.contains($0.key) })
      let depth = try await scene.depth()
      #expect(depth.ready == 0 && depth.claimed == 0 && depth.delayed == 0, "\(depth)")
      let durable = try await scene.broker.missing(Array(expected.keys), in: SlotMoveTests.queue)
      #expect(durable.count == expected.count, "the broker knows jobs that are done")
    }
  }

  /// With a delayed job every key of a queue exists, so its scripts can run on the new master before that has the slot;
  /// without one, they have to wait.
  @Test(arguments: [true, false], [false, true]) func aQueueInTwoPlacesLosesNothing(
    everyKeyExists: Bool, backwards: Bool
  ) async throws {
    try await with(commandTimeout: .milliseconds(500)) { scene in
      let consumer = try await scene.broker.join(Self.queue, worker: "w", lease: .seconds(120))
      var hand = Hand(scene, consumer)
      let later = JobRecord.test("later", queue: Self.queue, runAt: JobID.next().milliseconds + 3_600_000)
      if everyKeyExists { try await scene.broker.push([later]) }
      for number in 0..<30 {
        hand.push(.test("\(number)", queue: Self.queue, priority: number % 3 == 0 ? .high : .normal))
      }
      try await hand.go()
      while hand.held.count < 24 { try await hand.claim(8) }

      try await scene.begin()
      let keys = try await scene.keys()
      #expect(keys.count == (everyKeyExists ? 12 : 11), "\(keys)")
      for (step, key) in (backwards ? keys.reversed() : keys).enumerated() {
        hand.push(.test("step \(step)", queue: Self.queue, isDurable: step % 2 == 0))
        hand.settleSome()
        try await hand.go()
        try await hand.claim(1)
        try await scene.move(key)
      }
      // Only the two masters know, and the one with the keys must be asked (ASK).
      hand.push(.test("all moved", queue: Self.queue))
      hand.push(.test("all moved, no record", queue: Self.queue, isDurable: false))
      hand.settleSome()
      try await hand.go()
      try await hand.claim(1)
      if everyKeyExists {
        try await eventually("scripts run where the keys are") {
          try await hand.go()
          return hand.waiting.isEmpty
        }
      } else {
        #expect(!hand.waiting.isEmpty)
      }
      #expect(hand.refusals.contains("TRYAGAIN"))

      try await scene.end()
      if everyKeyExists {
        hand.expected[later.id] = 1
        try await eventually("the delayed job is there") {
          try await scene.broker.promote([later.id], in: Self.queue) == [later.id]
        }
      }
      try await hand.finish()
    }
  }

  /// A worker's read that waits at a master giving the slot away must not keep waiting there.
  @Test(arguments: [false, true]) func aWaitingReadFollowsTheSlot(isAlone: Bool) async throws {
    try await with { scene in
      let consumer = try await scene.broker.join(Self.queue, worker: "w", lease: .seconds(240))
      let claimed = Locked<[String]>([])
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          // Each read would otherwise wait for two minutes.
          while claimed.withLock({ $0.isEmpty }) {
            let claims = try await consumer.claim(1, wait: .seconds(240))
            claimed.withLock { $0 += claims.map(\.record.text) }
          }
        }
        try await eventually("the read waits") {
          let clients = try await scene.cluster.nodes[scene.from].run("CLIENT", "LIST")
          return clients.contains("cmd=xreadgroup")
        }
        if !isAlone {
          group.addTask {
            while claimed.withLock({ $0.isEmpty }) {
              _ = try await consumer.heartbeat()
              // The interval of heartbeats; nothing depends on it.
              try await Task.sleep(for: .milliseconds(100))
            }
          }
        }
        try await scene.begin()
        for key in try await scene.keys() { try await scene.move(key) }
        try await scene.end()
        let start = ContinuousClock.now
        try await scene.broker.push([.test("here", queue: Self.queue)])
        try await eventually("the job is claimed", within: .seconds(60)) { claimed.withLock { !$0.isEmpty } }
        let who = isAlone ? "a read alone" : "a read beside heartbeats"
        print("cluster: \(who) followed its slot after \(ContinuousClock.now - start)")
        try await group.waitForAll()
      }
      #expect(claimed.withLock { $0 } == ["here"])
    }
  }

  /// A move is given up before a key has moved, started again, and reversed by another one when it is complete.
  @Test func aMoveThatIsGivenUpChangesNothing() async throws {
    try await with(commandTimeout: .milliseconds(500)) { scene in
      let consumer = try await scene.broker.join(Self.queue, worker: "w", lease: .seconds(120))
      var hand = Hand(scene, consumer)
      for number in 0..<30 { hand.push(.test("\(number)", queue: Self.queue)) }
      try await hand.go()
      while hand.held.count < 12 { try await hand.claim(4) }

      try await scene.begin()
      hand.settleSome()
      try await hand.go()
      try await scene.cluster.abandonMove(of: scene.slot, from: scene.from, to: scene.to)
      try await eventually("as if nothing had been") {
        try await hand.go()
        return hand.waiting.isEmpty
      }
      try await hand.claim(2)

      for (from, to) in [(scene.from, scene.to), (scene.to, scene.from)] {
        try await scene.cluster.beginMove(of: scene.slot, from: from, to: to)
        for key in try await scene.cluster.keys(in: scene.slot, of: from) {
          hand.push(.test("on the way to \(to)", queue: Self.queue))
          hand.settleSome()
          try await hand.go()
          try await hand.claim(1)
          try await scene.cluster.moveKey(key, from: from, to: to)
        }
        try await scene.cluster.endMove(of: scene.slot, from: from, to: to)
      }
      try await hand.finish()
    }
  }

  /// Claims whose reply was lost with its connection during the move are found on the new master.
  @Test func lostClaimsAreFoundAfterAMove() async throws {
    try await with { scene in
      let consumer = try await scene.broker.join(Self.queue, worker: "w", lease: .seconds(120))
      #expect(try await consumer.claim(1, wait: .milliseconds(1)).isEmpty)
      let keys = try await scene.keys()
      let streams = ["high", "normal", "low"].map { name in keys.first { $0.hasSuffix(":\(name)") } ?? "" }
      try await scene.broker.push((0..<3).map { .test("\($0)", queue: Self.queue) })
      _ = try await scene.fixture.client.send(
        RedisCommand(
          "XREADGROUP", "GROUP", "workers", "w", "COUNT", 10, "STREAMS", streams[0], streams[1], streams[2], ">", ">",
          ">"))
      #expect(try await scene.depth().claimed == 3)

      try await scene.begin()
      try await scene.move(streams[2])
      try await scene.cluster.nodes[scene.from].run("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
      // The first finds the connection closed, the others are refused.
      for _ in 0..<4 {
        do {
          #expect(try await consumer.claim(10, wait: .milliseconds(1)).isEmpty)
        } catch is BrokerError {}
      }
      for key in try await scene.keys() { try await scene.move(key) }
      try await scene.end()
      // No heartbeat has noticed that the server is another one: the claims are this incarnation's.
      var found: Set<String> = []
      try await eventually("the claims are found", within: .seconds(20)) {
        do {
          found.formUnion(try await consumer.claim(10, wait: .milliseconds(50)).map(\.record.text))
        } catch is BrokerError {}
        return found.count == 3
      }
    }
  }

  private struct Numbered: Job {
    static let kind: JobKind = "test.numbered"
    static let queue = SlotMoveTests.queue
    var number: Int
  }

  private struct Effect: Job {
    static let kind: JobKind = "test.effect"
    static let queue: QueueName = "effects"
    var number: Int
  }

  /// Two workers whose leases expire before the move ends.
  @Test func workersGoOnAfterAMoveThatTakesLong() async throws {
    try await with(commandTimeout: .milliseconds(500)) { scene in
      let ledger = InMemoryLedger()
      var registry = JobRegistry<InMemoryLedger>()
      registry.register(Numbered.self) { job, context in
        try await context.transaction { try await $0.enqueue(Effect(number: job.number)) }
      }
      let handlers = registry
      @Sendable func worker() -> Worker<RedisBroker, InMemoryLedger> {
        var configuration = WorkerConfiguration(queues: [Self.queue: 4])
        configuration.lease = .milliseconds(600)
        configuration.heartbeat = .milliseconds(200)
        return Worker(
          broker: scene.broker, ledger: ledger, registry: handlers, configuration: configuration, logger: .quiet)
      }
      let client = JobClient(broker: scene.broker, ledger: ledger, logger: .quiet)
      let asked = Locked(0)
      @Sendable func ask(_ count: Int) async throws {
        let first = asked.withLock { asked in
          defer { asked += count }
          return asked
        }
        // Jobs that cannot be pushed are pending.
        try await client.enqueue((first..<first + count).map { Numbered(number: $0) })
      }
      try await RunningWorker.run(worker()) { _ in
        try await RunningWorker.run(worker()) { _ in
          try await ask(200)
          try await eventually("some are done") { ledger.pendingCount(in: Self.queue) < 100 }
          try await ask(200)
          try await scene.begin()
          for key in try await scene.keys() {
            // Each push times out, and meanwhile the workers' heartbeats and claims fail.
            try await ask(20)
            try await scene.move(key)
          }
          try await ask(20)
          #expect(ledger.pendingCount(in: Self.queue) > 0)
          try await scene.end()
          let start = ContinuousClock.now
          try await eventually("all are done", within: .seconds(120)) { ledger.pendingCount(in: Self.queue) == 0 }
          print("cluster: all that was pending when a slot had arrived was done \(ContinuousClock.now - start) later")
          try await eventually("the broker is through as well") {
            let depth = try await scene.depth()
            return depth.ready + depth.claimed + depth.delayed == 0
          }
        }
      }
      let ids = ledger.pendingIDs(queue: Effect.queue, after: nil, before: JobID(high: .max, low: 0), limit: 1_000_000)
      let effects = try ledger.records(ids, queue: Effect.queue).map {
        try Effect(payload: $0.payload, version: 1).number
      }
      #expect(effects.sorted() == Array(0..<asked.withLock { $0 }))
      #expect(ledger.dead.isEmpty)
    }
  }
}
