import DurableJobs
import JobsTestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct BrokerClaimTests {
  @Test(arguments: BrokerKind.allCases)
  func priorityComesFirstThenArrival(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let consumer = try await fixture.join()
      try await fixture.broker.push([
        .test("low 1", priority: .low), .test("normal 1"), .test("high 1", priority: .high), .test("normal 2"),
        .test("low 2", priority: .low), .test("high 2", priority: .high),
      ])
      #expect(
        try await consumer.claim(10, wait: .seconds(10)).map(\.record.text)
          == ["high 1", "high 2", "normal 1", "normal 2", "low 1", "low 2"])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aDelayedJobIsReadyWhenItsTimeHasCome(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let consumer = try await fixture.join()
      try await fixture.broker.push([
        .test("far", runAt: milliseconds(fromNow: .seconds(600))),
        .test("near", priority: .low, runAt: milliseconds(fromNow: .milliseconds(80))),
        .test("past", runAt: milliseconds(fromNow: .seconds(-10))),
      ])
      #expect(try await consumer.claimAll(1).map(\.record.text) == ["past"])
      let near = try await eventual("the delayed job") {
        let heartbeat = try await consumer.heartbeat()
        if let due = heartbeat.nextDue { #expect(due <= .seconds(600)) }
        return try await consumer.claimNow().first
      }
      #expect(near.record.text == "near")
      #expect(near.record.priority == .low)
      #expect(near.attempt == 1)
      #expect(milliseconds(fromNow: .zero) >= near.record.id.milliseconds + 80)
      #expect(try await fixture.statistics() == QueueStatistics(ready: 0, claimed: 2, delayed: 1, workers: 1))
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aClaimWaitsForTheFirstJob(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let consumer = try await fixture.join()
      async let claims = consumer.claim(5, wait: .seconds(60))
      try await fixture.broker.push([.test("late")])
      #expect(try await claims.map(\.record.text) == ["late"])
      #expect(try await consumer.claimNow().isEmpty)
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func anInterruptEndsTheWaitAndEveryLaterClaim(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      // The read may wait for 300 s: only the interrupt can end it within the suite's limit.
      let consumer = try await fixture.join(lease: .seconds(1200))
      try await withThrowingTaskGroup(of: [Claim].self) { group in
        group.addTask { try await consumer.claim(5, wait: .seconds(600)) }
        // Wherever the claim is by now, before its wait or in it, it ends.
        await consumer.stopClaiming()
        let claims = try await group.next()
        #expect(claims?.isEmpty == true)
      }
      try await fixture.broker.push([.test()])
      #expect(try await consumer.claim(5, wait: .seconds(600)).isEmpty)
      #expect(try await fixture.statistics().ready == 1)
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func consumersShareTheJobs(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let jobs = (0..<600).map { JobRecord.test("\($0)", isDurable: $0 % 2 == 0) }
      let consumers = try await [fixture.join("a"), fixture.join("b"), fixture.join("c")]
      let claimed = try await withThrowingTaskGroup(of: [Claim].self) { group in
        for consumer in consumers {
          group.addTask {
            var claims: [Claim] = []
            while true {
              let more = try await consumer.claim(7, wait: .milliseconds(200))
              claims += more
              if more.isEmpty, try await fixture.statistics().claimed == jobs.count { return claims }
            }
          }
        }
        for half in [jobs[..<300], jobs[300...]] { try await fixture.broker.push(Array(half)) }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      #expect(claimed.count == jobs.count)
      #expect(Set(claimed.map(\.record.id)) == Set(jobs.map(\.id)))
      #expect(Set(claimed.map(\.receipt)).count == jobs.count)
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aRetryWaitsAndKeepsTheNewRecord(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let consumer = try await fixture.join()
      try await fixture.broker.push([.test("durable", priority: .high), .test("fleeting", isDurable: false)])
      let claims = try await consumer.claimAll(2)
      let retries = claims.map { claim in
        var record = claim.record
        record.attempts = claim.attempt
        if !record.isDurable { record.failures.append(JobFailure(attempt: 1, at: 7, error: "no", worker: "a")) }
        return ClaimRetry(claim: claim, delay: .milliseconds(50), record: record)
      }
      try await consumer.retry(retries)
      #expect(try await fixture.statistics() == QueueStatistics(ready: 0, claimed: 0, delayed: 2, workers: 1))
      #expect(try await fixture.broker.missing([claims[0].record.id], in: .default).isEmpty)

      var again: [Claim] = []
      try await eventually("both jobs are ready again") {
        _ = try await consumer.heartbeat()
        again += try await consumer.claimNow()
        return again.count == 2
      }
      #expect(again.map(\.attempt) == [2, 2])
      #expect(Set(again.map(\.record)) == Set(retries.map(\.record)))
      try await consumer.acknowledge(again)
      #expect(try await fixture.statistics() == QueueStatistics(ready: 0, claimed: 0, delayed: 0, workers: 1))
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aReleasedClaimIsReadyBeforeOthersAndNotCounted(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let consumer = try await fixture.join()
      try await fixture.broker.push([.test("first"), .test("second"), .test("third")])
      let first = try await consumer.claim(1, wait: .seconds(10))
      try await consumer.release(first)
      // A claim that is no longer the consumer's is left alone.
      try await consumer.release(first)
      try await consumer.retry(first.map { ClaimRetry(claim: $0, delay: .zero, record: $0.record) })
      #expect(try await fixture.statistics() == QueueStatistics(ready: 3, claimed: 0, delayed: 0, workers: 1))
      let again = try await consumer.claimAll(3)
      #expect(again.map(\.record.text) == ["first", "second", "third"])
      #expect(again.map(\.attempt) == [1, 1, 1])
      #expect(try await fixture.broker.missing(again.map(\.record.id), in: .default).isEmpty)
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func thousandsAtOnceGoThroughEveryStep(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let consumer = try await fixture.join()
      let jobs = (0..<3300).map { JobRecord.test("\($0)", isDurable: $0 % 3 > 0) }
      try await fixture.broker.push(jobs)
      let claims = try await consumer.claimAll(jobs.count)
      try await consumer.release(Array(claims[..<1200]))
      try await consumer.retry(
        claims[1200..<2400].map { ClaimRetry(claim: $0, delay: .seconds(60), record: $0.record) })
      #expect(try await fixture.statistics() == QueueStatistics(ready: 1200, claimed: 900, delayed: 1200, workers: 1))
      try await consumer.acknowledge(Array(claims[2400...]))
      #expect(try await fixture.statistics() == QueueStatistics(ready: 1200, claimed: 0, delayed: 1200, workers: 1))
      _ = try await consumer.claimAll(1200)
      try await consumer.leave()
      #expect(try await fixture.statistics() == QueueStatistics(ready: 1200, claimed: 0, delayed: 1200, workers: 0))
    }
  }
}
