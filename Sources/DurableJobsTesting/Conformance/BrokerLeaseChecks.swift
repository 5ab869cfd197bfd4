import DurableJobs
import JobsTestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct BrokerLeaseTests {
  @Test(arguments: BrokerKind.allCases)
  func whatADeadConsumerHeldIsHandedOnAndWhatHadBegunCountsAsAnAttempt(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let dead = try await fixture.join("dead", lease: .milliseconds(200))
      let alive = try await fixture.join("alive")
      try await fixture.broker.push([.test("1", priority: .low), .test("2", isDurable: false), .test("3")])
      let held = try await dead.claimAll(3)
      #expect(held.map(\.attempt) == [1, 1, 1])
      #expect(held.allSatisfy { !$0.isRedelivered })
      let begun = held.filter { $0.record.text != "3" }
      #expect(try await dead.begin(begun) == Set(begun.map(\.receipt)))

      var reaped = 0
      try await eventually("the dead consumer's claims are handed on") {
        reaped += try await alive.heartbeat().reaped
        return reaped == 3
      }
      #expect(try await fixture.statistics() == QueueStatistics(ready: 3, claimed: 0, delayed: 0, workers: 1))
      let taken = try await alive.claimAll(3)
      // Each in its priority, of which low is the last.
      #expect(taken.last?.record.text == "1" && taken.last?.record.priority == .low)
      #expect(Set(taken.map(\.record.text)) == ["1", "2", "3"])
      for claim in taken { #expect(claim.attempt == (claim.record.text == "3" ? 1 : 2), "\(claim.record.text)") }
      #expect(taken.allSatisfy { $0.isRedelivered })
      #expect(try await fixture.broker.missing(held.map(\.record.id), in: .default).count <= 1)
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aBeatSaysWhenAnothersLeaseEnds(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      _ = try await fixture.join("silent", lease: .seconds(3))
      let other = try await fixture.join("other", lease: .seconds(60))
      let due = try await other.heartbeat().nextDue
      #expect(due.map { $0 > .zero && $0 <= .seconds(3) } == true, "\(String(describing: due))")
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aConsumerThatBeatsKeepsItsClaims(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let lease = Duration.milliseconds(400)
      let (one, other) = (try await fixture.join("one", lease: lease), try await fixture.join("other"))
      try await fixture.broker.push([.test()])
      let held = try await one.claimAll(1)
      let end = ContinuousClock.now + lease * 3
      var last = ContinuousClock.now
      while ContinuousClock.now < end {
        let heartbeat = try await one.heartbeat()
        // On a machine so slow that a lease passes between two beats, the other may take over.
        if ContinuousClock.now - last > lease { return }
        last = .now
        #expect(heartbeat.keptLease)
        #expect(try await other.heartbeat().reaped == 0)
      }
      try await one.acknowledge(held)
      #expect(try await fixture.statistics().claimed == 0)
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aFrozenConsumerChangesNothingWhenItWakes(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let frozen = try await fixture.join("frozen", lease: .milliseconds(200))
      let alive = try await fixture.join("alive")
      try await fixture.broker.push([.test("durable"), .test("fleeting", isDurable: false), .test("third")])
      let held = try await frozen.claimAll(3)
      try await eventually("the frozen consumer is declared dead") { try await alive.heartbeat().reaped > 0 }
      let taken = try await alive.claimAll(3)

      try await frozen.retry([ClaimRetry(claim: held[0], delay: .zero, record: held[0].record)])
      try await frozen.release([held[1]])
      try await frozen.acknowledge([held[2]])
      #expect(try await frozen.begin(held).isEmpty, "they are somebody else's")
      #expect(try await fixture.statistics() == QueueStatistics(ready: 0, claimed: 3, delayed: 0, workers: 1))

      let heartbeat = try await frozen.heartbeat()
      #expect(!heartbeat.keptLease)
      #expect(held.allSatisfy { $0.incarnation < heartbeat.incarnation })
      try await frozen.retry([ClaimRetry(claim: held[0], delay: .zero, record: held[0].record)])
      try await frozen.release([held[1]])
      #expect(try await fixture.statistics() == QueueStatistics(ready: 0, claimed: 3, delayed: 0, workers: 2))

      // Its new life claims as any other does.
      try await fixture.broker.push([.test("new")])
      let new = try await frozen.claimAll(1)
      #expect(new.map(\.record.text) == ["new"])
      #expect(new.first?.incarnation == heartbeat.incarnation)
      try await alive.acknowledge(taken)
      try await frozen.acknowledge(new)
      #expect(try await fixture.statistics().claimed == 0)
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func whatAFrozenConsumerStillClaimsIsNotLost(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let frozen = try await fixture.join("frozen", lease: .milliseconds(200))
      let alive = try await fixture.join("alive")
      try await eventually("the frozen consumer is declared dead") {
        _ = try await alive.heartbeat()
        return try await fixture.statistics().workers == 1
      }
      // It wakes, and its claim comes before its heartbeat.
      try await fixture.broker.push([.test()])
      let early = try await frozen.claimNow()
      _ = try await frozen.heartbeat()
      let live = early.filter { claim in claim.incarnation > 0 }
      try await frozen.release(early.filter { claim in !live.contains { $0.receipt == claim.receipt } })
      try await frozen.release(live)
      #expect(try await alive.claimAll(1).map(\.attempt) == [1])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func leavingHandsBack(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let (leaving, staying) = (try await fixture.join("leaving"), try await fixture.join("staying"))
      try await fixture.broker.push([.test("1"), .test("2", isDurable: false)])
      _ = try await leaving.claimAll(2)
      try await leaving.leave()
      #expect(try await fixture.statistics() == QueueStatistics(ready: 2, claimed: 0, delayed: 0, workers: 1))
      #expect(try await staying.claimAll(2).map(\.attempt) == [1, 1])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aBrokerThatForgotEverythingBeginsANewEpoch(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let consumer = try await fixture.join()
      let epoch = await consumer.epoch
      #expect(!epoch.isEmpty)
      #expect(try await fixture.join("another").epoch == epoch)
      #expect(try await consumer.heartbeat().keptLease)
      let (held, waiting) = (JobRecord.test("held"), JobRecord.test("waiting"))
      try await fixture.broker.push([held])
      let claims = try await consumer.claimAll(1)
      try await fixture.broker.push([waiting])

      try await fixture.forgetEverything()
      #expect(try await fixture.broker.missing([held.id, waiting.id], in: .default) == [held.id, waiting.id])
      #expect(try await !consumer.heartbeat().keptLease)
      #expect(await consumer.epoch != epoch)
      // What was claimed before is nobody's: ending it in any way is harmless.
      try await consumer.retry(claims.map { ClaimRetry(claim: $0, delay: .zero, record: $0.record) })
      try await consumer.release(claims)
      try await consumer.acknowledge(claims)
      #expect(try await fixture.statistics() == QueueStatistics(ready: 0, claimed: 0, delayed: 0, workers: 1))

      try await fixture.broker.push([held, waiting])
      #expect(try await consumer.claimAll(2).map(\.record.text) == ["held", "waiting"])
      #expect(try await consumer.heartbeat().keptLease)
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aWaitingClaimOutlivesTheLossOfTheBrokersMemory(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let consumer = try await fixture.join()
      try await withThrowingTaskGroup(of: [Claim].self) { group in
        group.addTask {
          while true {
            let claims = try await consumer.claim(1, wait: .seconds(1))
            if !claims.isEmpty { return claims }
          }
        }
        try await fixture.forgetEverything()
        try await eventually("the consumer has joined anew") {
          _ = try await consumer.heartbeat()
          return try await fixture.statistics().workers > 0
        }
        try await fixture.broker.push([.test("after")])
        let claims = try await group.next()
        #expect(claims?.map(\.record.text) == ["after"])
      }
    }
  }

  /// A broker that stood still for longer than a lease, or that nobody could reach, has heard nobody: nobody died of
  /// that.
  @Test(arguments: BrokerKind.allCases)
  func timeInWhichNoConsumerBeatsEndsNoLease(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let lease = Duration.milliseconds(300)
      let consumers = try await [fixture.join("a", lease: lease), fixture.join("b", lease: lease)]
      try await fixture.broker.push((0..<4).map { .test("\($0)") })
      let held = try await [consumers[0].claim(2, wait: .seconds(10)), consumers[1].claimAll(2)]
      for consumer in consumers { #expect(try await consumer.heartbeat().keptLease) }
      // The silence itself is what is tested.
      try await Task.sleep(for: lease * 2)
      for consumer in consumers {
        let heartbeat = try await consumer.heartbeat()
        #expect(heartbeat.keptLease && heartbeat.reaped == 0)
      }
      for (consumer, claims) in zip(consumers, held) {
        #expect(try await consumer.begin(claims) == Set(claims.map(\.receipt)))
      }
      // Who says nothing while another does is dead all the same.
      var reaped = 0
      try await eventually("the silent one is declared dead") {
        reaped += try await consumers[0].heartbeat().reaped
        return reaped == 2
      }
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func handingBackCountsNothingAndKeepsThePriority(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let consumer = try await fixture.join()
      try await fixture.broker.push([
        .test("low", priority: .low), .test("normal"), .test("high", priority: .high), .test("later", priority: .low),
      ])
      let all = try await consumer.claimAll(4)
      let returned = all.filter { $0.record.text != "later" }
      _ = try await consumer.begin(returned)
      try await consumer.release(returned)
      try await fixture.broker.push([.test("new high", priority: .high), .test("new low", priority: .low)])
      let again = try await consumer.claimAll(5)
      #expect(again.map(\.record.text) == ["high", "new high", "normal", "low", "new low"])
      #expect(again.allSatisfy { $0.attempt == 1 })
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func claimsOfAWhileAgoAreListed(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let lease = Duration.milliseconds(100)
      let consumer = try await fixture.join("a", lease: lease)
      try await fixture.broker.push((0..<3).map { .test("\($0)") })
      let claims = try await consumer.claimAll(3)
      var held: [String] = []
      try await eventually("they are old") {
        held = try await consumer.heartbeat(listingHeld: true).held
        return held.count == 3
      }
      #expect(Set(held) == Set(claims.map(\.receipt)))
      #expect(try await consumer.heartbeat().held.isEmpty, "nobody asked")
      try await consumer.releaseUnreceived(held)
      #expect(try await fixture.statistics().ready == 3)
      #expect(try await consumer.claimAll(3).map(\.attempt) == [1, 1, 1])
    }
  }
}
