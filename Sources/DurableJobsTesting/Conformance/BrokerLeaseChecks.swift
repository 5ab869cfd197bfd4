import DurableJobs

/// Leases, heartbeats, dead consumers, and a broker that lost its data.
enum BrokerLeaseChecks {
  static let all: [BrokerCheck] = [
    BrokerCheck("a dead consumer's claims are handed on; begun ones count as attempts") {
      try await aDeadConsumersClaimsAreHandedOn($0)
    },
    BrokerCheck("a heartbeat tells when another consumer's lease ends") {
      try await aHeartbeatTellsWhenAnotherLeaseEnds($0)
    },
    BrokerCheck("a consumer that sends heartbeats keeps its claims") { try await heartbeatsKeepClaims($0) },
    BrokerCheck("a frozen consumer changes nothing when it wakes") { try await aFrozenConsumerChangesNothing($0) },
    BrokerCheck("a frozen consumer's late claim is not lost") { try await aFrozenConsumersLateClaimIsNotLost($0) },
    BrokerCheck("leaving hands claims back") { try await leavingHandsBack($0) },
    BrokerCheck("a broker that lost its memory begins a new epoch") { try await lostMemoryBeginsANewEpoch($0) },
    BrokerCheck("a waiting claim outlives the loss of the broker's memory") {
      try await aWaitingClaimOutlivesLostMemory($0)
    },
    BrokerCheck("a time without any heartbeat ends no lease") { try await silenceOfAllEndsNoLease($0) },
    BrokerCheck("releasing counts no attempt and keeps the priority") { try await releasingKeepsThePriority($0) },
    BrokerCheck("claims older than a lease are listed") { try await oldClaimsAreListed($0) },
  ]

  private static func aDeadConsumersClaimsAreHandedOn(_ subject: BrokerUnderTest) async throws {
    let dead = try await subject.join("dead", lease: .milliseconds(200))
    let alive = try await subject.join("alive")
    try await subject.broker.push([.test("1", priority: .low), .test("2", isDurable: false), .test("3")])
    let held = try await dead.claimAll(3)
    try expect(held.map(\.attempt), equals: [1, 1, 1])
    try expect(held.allSatisfy { !$0.isRedelivered })
    let begun = held.filter { $0.record.text != "3" }
    try await expect(dead.begin(begun), equals: Set(begun.map(\.receipt)))

    var reaped = 0
    try await eventually("the dead consumer's claims are handed on") {
      reaped += try await alive.heartbeat().reaped
      return reaped == 3
    }
    try await expect(subject.counts(), equals: QueueCounts(ready: 3, workers: 1))
    let taken = try await alive.claimAll(3)
    // Each keeps its priority, of which low comes last.
    try expect(taken.last?.record.text == "1" && taken.last?.record.priority == .low)
    try expect(Set(taken.map(\.record.text)), equals: ["1", "2", "3"])
    for claim in taken { try expect(claim.attempt, equals: (claim.record.text == "3" ? 1 : 2), "\(claim.record.text)") }
    try expect(taken.allSatisfy { $0.isRedelivered })
    try await expect(subject.broker.missing(held.map(\.record.id), in: .default).count <= 1)
  }

  private static func aHeartbeatTellsWhenAnotherLeaseEnds(_ subject: BrokerUnderTest) async throws {
    _ = try await subject.join("silent", lease: .seconds(3))
    let other = try await subject.join("other", lease: .seconds(60))
    let due = try await other.heartbeat().nextDue
    try expect(due.map { $0 > .zero && $0 <= .seconds(3) }, equals: true, "\(String(describing: due))")
  }

  private static func heartbeatsKeepClaims(_ subject: BrokerUnderTest) async throws {
    let lease = Duration.milliseconds(400)
    let (one, other) = (try await subject.join("one", lease: lease), try await subject.join("other"))
    try await subject.broker.push([.test()])
    let held = try await one.claimAll(1)
    let end = ContinuousClock.now + lease * 3
    var last = ContinuousClock.now
    while ContinuousClock.now < end {
      let heartbeat = try await one.heartbeat()
      // On a machine so slow that the lease expires between two beats, the other may take over.
      if ContinuousClock.now - last > lease { return }
      last = .now
      try expect(heartbeat.keptLease)
      try await expect(other.heartbeat().reaped, equals: 0)
    }
    try await one.acknowledge(held)
    try await expect(subject.counts().claimed, equals: 0)
  }

  private static func aFrozenConsumerChangesNothing(_ subject: BrokerUnderTest) async throws {
    let frozen = try await subject.join("frozen", lease: .milliseconds(200))
    let alive = try await subject.join("alive")
    try await subject.broker.push([.test("durable"), .test("fleeting", isDurable: false), .test("third")])
    let held = try await frozen.claimAll(3)
    try await eventually("the frozen consumer is declared dead") { try await alive.heartbeat().reaped > 0 }
    let taken = try await alive.claimAll(3)

    try await frozen.retry([ClaimRetry(claim: held[0], delay: .zero, record: held[0].record)])
    try await frozen.release([held[1]])
    try await frozen.acknowledge([held[2]])
    try await expect(frozen.begin(held).isEmpty, "another consumer holds them")
    try await expect(subject.counts(), equals: QueueCounts(claimed: 3, workers: 1))

    let heartbeat = try await frozen.heartbeat()
    try expect(!heartbeat.keptLease)
    try expect(held.allSatisfy { $0.incarnation < heartbeat.incarnation })
    try await frozen.retry([ClaimRetry(claim: held[0], delay: .zero, record: held[0].record)])
    try await frozen.release([held[1]])
    try await expect(subject.counts(), equals: QueueCounts(claimed: 3, workers: 2))

    // Its new incarnation claims normally.
    try await subject.broker.push([.test("new")])
    let new = try await frozen.claimAll(1)
    try expect(new.map(\.record.text), equals: ["new"])
    try expect(new.first?.incarnation, equals: heartbeat.incarnation)
    try await alive.acknowledge(taken)
    try await frozen.acknowledge(new)
    try await expect(subject.counts().claimed, equals: 0)
  }

  private static func aFrozenConsumersLateClaimIsNotLost(_ subject: BrokerUnderTest) async throws {
    let frozen = try await subject.join("frozen", lease: .milliseconds(200))
    let alive = try await subject.join("alive")
    try await eventually("the frozen consumer is declared dead") {
      _ = try await alive.heartbeat()
      return try await subject.counts().workers == 1
    }
    // It resumes, and claims before its heartbeat.
    try await subject.broker.push([.test()])
    let early = try await frozen.claimNow()
    _ = try await frozen.heartbeat()
    let live = early.filter { claim in claim.incarnation > 0 }
    try await frozen.release(early.filter { claim in !live.contains { $0.receipt == claim.receipt } })
    try await frozen.release(live)
    try await expect(alive.claimAll(1).map(\.attempt), equals: [1])
  }

  private static func leavingHandsBack(_ subject: BrokerUnderTest) async throws {
    let (leaving, staying) = (try await subject.join("leaving"), try await subject.join("staying"))
    try await subject.broker.push([.test("1"), .test("2", isDurable: false)])
    _ = try await leaving.claimAll(2)
    try await leaving.leave()
    try await expect(subject.counts(), equals: QueueCounts(ready: 2, workers: 1))
    try await expect(staying.claimAll(2).map(\.attempt), equals: [1, 1])
  }

  private static func lostMemoryBeginsANewEpoch(_ subject: BrokerUnderTest) async throws {
    let consumer = try await subject.join()
    let epoch = await consumer.epoch
    try expect(!epoch.isEmpty)
    try await expect(subject.join("another").epoch, equals: epoch)
    try await expect(consumer.heartbeat().keptLease)
    let (held, waiting) = (JobRecord.test("held"), JobRecord.test("waiting"))
    try await subject.broker.push([held])
    let claims = try await consumer.claimAll(1)
    try await subject.broker.push([waiting])

    try await subject.forgetEverything()
    try await expect(subject.broker.missing([held.id, waiting.id], in: .default), equals: [held.id, waiting.id])
    try await expect(!consumer.heartbeat().keptLease)
    try await expect(consumer.epoch != epoch)
    // Earlier claims have no holder any more, so settling them in any way is harmless.
    try await consumer.retry(claims.map { ClaimRetry(claim: $0, delay: .zero, record: $0.record) })
    try await consumer.release(claims)
    try await consumer.acknowledge(claims)
    try await expect(subject.counts(), equals: QueueCounts(workers: 1))

    try await subject.broker.push([held, waiting])
    try await expect(consumer.claimAll(2).map(\.record.text), equals: ["held", "waiting"])
    try await expect(consumer.heartbeat().keptLease)
  }

  private static func aWaitingClaimOutlivesLostMemory(_ subject: BrokerUnderTest) async throws {
    let consumer = try await subject.join()
    try await withThrowingTaskGroup(of: [Claim].self) { group in
      group.addTask {
        while true {
          let claims = try await consumer.claim(1, wait: .seconds(1))
          if !claims.isEmpty { return claims }
        }
      }
      try await subject.forgetEverything()
      try await eventually("the consumer has rejoined") {
        _ = try await consumer.heartbeat()
        return try await subject.counts().workers > 0
      }
      try await subject.broker.push([.test("after")])
      let claims = try await group.next()
      try expect(claims?.map(\.record.text), equals: ["after"])
    }
  }

  /// A broker that stalled for longer than a lease, or could not be reached, received no heartbeats: that does not make
  /// a consumer dead.
  private static func silenceOfAllEndsNoLease(_ subject: BrokerUnderTest) async throws {
    let lease = Duration.milliseconds(300)
    let consumers = try await [subject.join("a", lease: lease), subject.join("b", lease: lease)]
    try await subject.broker.push((0..<4).map { .test("\($0)") })
    let held = try await [consumers[0].claim(2, wait: .seconds(10)), consumers[1].claimAll(2)]
    for consumer in consumers { try await expect(consumer.heartbeat().keptLease) }
    // The silence itself is under test.
    try await Task.sleep(for: lease * 2)
    for consumer in consumers {
      let heartbeat = try await consumer.heartbeat()
      try expect(heartbeat.keptLease && heartbeat.reaped == 0)
    }
    for (consumer, claims) in zip(consumers, held) {
      try await expect(consumer.begin(claims), equals: Set(claims.map(\.receipt)))
    }
    // A consumer that stays silent while another sends heartbeats is still declared dead.
    var reaped = 0
    try await eventually("the silent one is declared dead") {
      reaped += try await consumers[0].heartbeat().reaped
      return reaped == 2
    }
  }

  private static func releasingKeepsThePriority(_ subject: BrokerUnderTest) async throws {
    let consumer = try await subject.join()
    try await subject.broker.push([
      .test("low", priority: .low), .test("normal"), .test("high", priority: .high), .test("later", priority: .low),
    ])
    let all = try await consumer.claimAll(4)
    let returned = all.filter { $0.record.text != "later" }
    _ = try await consumer.begin(returned)
    try await consumer.release(returned)
    try await subject.broker.push([.test("new high", priority: .high), .test("new low", priority: .low)])
    let again = try await consumer.claimAll(5)
    try expect(again.map(\.record.text), equals: ["high", "new high", "normal", "low", "new low"])
    try expect(again.allSatisfy { $0.attempt == 1 })
  }

  private static func oldClaimsAreListed(_ subject: BrokerUnderTest) async throws {
    let lease = Duration.milliseconds(100)
    let consumer = try await subject.join("a", lease: lease)
    try await subject.broker.push((0..<3).map { .test("\($0)") })
    let claims = try await consumer.claimAll(3)
    var held: [String] = []
    try await eventually("they are old") {
      held = try await consumer.heartbeat(listingHeld: true).held
      return held.count == 3
    }
    try expect(Set(held), equals: Set(claims.map(\.receipt)))
    try await expect(consumer.heartbeat().held.isEmpty, "nobody asked")
    try await consumer.releaseUnreceived(held)
    try await expect(subject.counts().ready, equals: 3)
    try await expect(consumer.claimAll(3).map(\.attempt), equals: [1, 1, 1])
  }
}
