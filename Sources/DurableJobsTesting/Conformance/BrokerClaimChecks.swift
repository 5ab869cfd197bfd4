import DurableJobs

/// How consumers take jobs and hand them back.
enum BrokerClaimChecks {
  static let all: [BrokerCheck] = [
    BrokerCheck("priority comes first, then arrival") { try await priorityComesFirstThenArrival($0) },
    BrokerCheck("a delayed job is ready when it is due") { try await aDelayedJobIsReadyWhenItIsDue($0) },
    BrokerCheck("a claim waits for the first job") { try await aClaimWaitsForTheFirstJob($0) },
    BrokerCheck("stopping ends the wait and every later claim") { try await stoppingEndsTheWaitAndLaterClaims($0) },
    BrokerCheck("consumers share the jobs") { try await consumersShareTheJobs($0) },
    BrokerCheck("a retry waits and keeps the new record") { try await aRetryWaitsAndKeepsTheNewRecord($0) },
    BrokerCheck("a released claim is ready before others, its attempt not counted") {
      try await aReleasedClaimComesFirst($0)
    },
    BrokerCheck("thousands at once go through every step") { try await thousandsAtOnceGoThroughEveryStep($0) },
  ]

  private static func priorityComesFirstThenArrival(_ subject: BrokerUnderTest) async throws {
    let consumer = try await subject.join()
    try await subject.broker.push([
      .test("low 1", priority: .low), .test("normal 1"), .test("high 1", priority: .high), .test("normal 2"),
      .test("low 2", priority: .low), .test("high 2", priority: .high),
    ])
    try await expect(
      consumer.claim(10, wait: .seconds(10)).map(\.record.text),
      equals: ["high 1", "high 2", "normal 1", "normal 2", "low 1", "low 2"])
  }

  private static func aDelayedJobIsReadyWhenItIsDue(_ subject: BrokerUnderTest) async throws {
    let consumer = try await subject.join()
    try await subject.broker.push([
      .test("far", runAt: milliseconds(fromNow: .seconds(600))),
      .test("near", priority: .low, runAt: milliseconds(fromNow: .milliseconds(80))),
      .test("past", runAt: milliseconds(fromNow: .seconds(-10))),
    ])
    try await expect(consumer.claimAll(1).map(\.record.text), equals: ["past"])
    let near = try await eventual("the delayed job") {
      let heartbeat = try await consumer.heartbeat()
      if let due = heartbeat.nextDue { try expect(due <= .seconds(600)) }
      return try await consumer.claimNow().first
    }
    try expect(near.record.text, equals: "near")
    try expect(near.record.priority, equals: .low)
    try expect(near.attempt, equals: 1)
    try expect(milliseconds(fromNow: .zero) >= near.record.id.milliseconds + 80)
    try await expect(subject.counts(), equals: QueueCounts(claimed: 2, delayed: 1, workers: 1))
  }

  private static func aClaimWaitsForTheFirstJob(_ subject: BrokerUnderTest) async throws {
    let consumer = try await subject.join()
    async let claims = consumer.claim(5, wait: .seconds(60))
    try await subject.broker.push([.test("late")])
    try await expect(claims.map(\.record.text), equals: ["late"])
    try await expect(consumer.claimNow().isEmpty)
  }

  private static func stoppingEndsTheWaitAndLaterClaims(_ subject: BrokerUnderTest) async throws {
    // The read may wait for 300 s: only the interrupt can end it within the suite's limit.
    let consumer = try await subject.join(lease: .seconds(1200))
    try await withThrowingTaskGroup(of: [Claim].self) { group in
      group.addTask { try await consumer.claim(5, wait: .seconds(600)) }
      // The claim ends wherever it is, before its wait or in it.
      await consumer.stopClaiming()
      let claims = try await group.next()
      try expect(claims?.isEmpty, equals: true)
    }
    try await subject.broker.push([.test()])
    try await expect(consumer.claim(5, wait: .seconds(600)).isEmpty)
    try await expect(subject.counts().ready, equals: 1)
  }

  private static func consumersShareTheJobs(_ subject: BrokerUnderTest) async throws {
    let jobs = (0..<600).map { JobRecord.test("\($0)", isDurable: $0 % 2 == 0) }
    let consumers = try await [subject.join("a"), subject.join("b"), subject.join("c")]
    let claimed = try await withThrowingTaskGroup(of: [Claim].self) { group in
      for consumer in consumers {
        group.addTask {
          var claims: [Claim] = []
          while true {
            let more = try await consumer.claim(7, wait: .milliseconds(200))
            claims += more
            if more.isEmpty, try await subject.counts().claimed == jobs.count { return claims }
          }
        }
      }
      for half in [jobs[..<300], jobs[300...]] { try await subject.broker.push(Array(half)) }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    try expect(claimed.count, equals: jobs.count)
    try expect(Set(claimed.map(\.record.id)), equals: Set(jobs.map(\.id)))
    try expect(Set(claimed.map(\.receipt)).count, equals: jobs.count)
  }

  private static func aRetryWaitsAndKeepsTheNewRecord(_ subject: BrokerUnderTest) async throws {
    let consumer = try await subject.join()
    try await subject.broker.push([.test("durable", priority: .high), .test("fleeting", isDurable: false)])
    let claims = try await consumer.claimAll(2)
    let retries = claims.map { claim in
      var record = claim.record
      record.attempts = claim.attempt
      if !record.isDurable {
        record.failures.append(JobFailure(attempt: 1, at: .init(unixMilliseconds: 7), error: "no", worker: "a"))
      }
      return ClaimRetry(claim: claim, delay: .milliseconds(50), record: record)
    }
    try await consumer.retry(retries)
    try await expect(subject.counts(), equals: QueueCounts(delayed: 2, workers: 1))
    try await expect(subject.broker.missing([claims[0].record.id], in: .default).isEmpty)

    var again: [Claim] = []
    try await eventually("both jobs are ready again") {
      _ = try await consumer.heartbeat()
      again += try await consumer.claimNow()
      return again.count == 2
    }
    try expect(again.map(\.attempt), equals: [2, 2])
    try expect(Set(again.map(\.record)), equals: Set(retries.map(\.record)))
    try await consumer.acknowledge(again)
    try await expect(subject.counts(), equals: QueueCounts(workers: 1))
  }

  private static func aReleasedClaimComesFirst(_ subject: BrokerUnderTest) async throws {
    let consumer = try await subject.join()
    try await subject.broker.push([.test("first"), .test("second"), .test("third")])
    let first = try await consumer.claim(1, wait: .seconds(10))
    try await consumer.release(first)
    // A claim that the consumer no longer has is left unchanged.
    try await consumer.release(first)
    try await consumer.retry(first.map { ClaimRetry(claim: $0, delay: .zero, record: $0.record) })
    try await expect(subject.counts(), equals: QueueCounts(ready: 3, workers: 1))
    let again = try await consumer.claimAll(3)
    try expect(again.map(\.record.text), equals: ["first", "second", "third"])
    try expect(again.map(\.attempt), equals: [1, 1, 1])
    try await expect(subject.broker.missing(again.map(\.record.id), in: .default).isEmpty)
  }

  private static func thousandsAtOnceGoThroughEveryStep(_ subject: BrokerUnderTest) async throws {
    let consumer = try await subject.join()
    let jobs = (0..<3300).map { JobRecord.test("\($0)", isDurable: $0 % 3 > 0) }
    try await subject.broker.push(jobs)
    let claims = try await consumer.claimAll(jobs.count)
    try await consumer.release(Array(claims[..<1200]))
    try await consumer.retry(
      claims[1200..<2400].map { ClaimRetry(claim: $0, delay: .seconds(60), record: $0.record) })
    try await expect(
      subject.counts(), equals: QueueCounts(ready: 1200, claimed: 900, delayed: 1200, workers: 1))
    try await consumer.acknowledge(Array(claims[2400...]))
    try await expect(subject.counts(), equals: QueueCounts(ready: 1200, delayed: 1200, workers: 1))
    _ = try await consumer.claimAll(1200)
    try await consumer.leave()
    try await expect(subject.counts(), equals: QueueCounts(ready: 1200, delayed: 1200))
  }
}
