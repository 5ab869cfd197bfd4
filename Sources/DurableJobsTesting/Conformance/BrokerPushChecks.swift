import DurableJobs
import JobsTestSupport
import Testing

@Suite struct BrokerPushTests {
  @Test(arguments: BrokerKind.allCases)
  func pushingAKnownJobChangesNothing(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let consumer = try await fixture.join()
      let job = JobRecord.test("first")
      try await fixture.broker.push([job, job])
      try await fixture.broker.push([job])
      #expect(try await fixture.statistics() == QueueStatistics(ready: 1, claimed: 0, delayed: 0, workers: 1))

      let claims = try await consumer.claimAll(1)
      try await fixture.broker.push([job])
      #expect(try await fixture.statistics() == QueueStatistics(ready: 0, claimed: 1, delayed: 0, workers: 1))

      var again = job
      again.attempts = 1
      try await consumer.retry(claims.map { ClaimRetry(claim: $0, delay: .seconds(60), record: again) })
      try await fixture.broker.push([job])
      #expect(try await fixture.statistics() == QueueStatistics(ready: 0, claimed: 0, delayed: 1, workers: 1))
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func pushingADelayedJobTwiceDelaysItOnce(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      _ = try await fixture.join()
      let job = JobRecord.test(runAt: milliseconds(fromNow: .seconds(60)))
      try await fixture.broker.push([job])
      try await fixture.broker.push([job])
      #expect(try await fixture.statistics() == QueueStatistics(ready: 0, claimed: 0, delayed: 1, workers: 1))
      #expect(try await fixture.broker.missing([job.id], in: .default).isEmpty)
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aJobThatEndedIsForgottenAndCanBePushedAgain(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let consumer = try await fixture.join()
      let job = JobRecord.test()
      try await fixture.broker.push([job])
      try await consumer.acknowledge(try await consumer.claimAll(1))
      #expect(try await fixture.statistics() == QueueStatistics(ready: 0, claimed: 0, delayed: 0, workers: 1))
      #expect(try await fixture.broker.missing([job.id], in: .default) == [job.id])

      try await fixture.broker.push([job])
      #expect(try await consumer.claimAll(1).map(\.record.id) == [job.id])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func unknownNamesWhatIsNeitherWaitingNorDelayedNorClaimed(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let consumer = try await fixture.join()
      let (ready, claimed, delayed, never) = (
        JobRecord.test("ready"), JobRecord.test("claimed"),
        JobRecord.test("delayed", runAt: milliseconds(fromNow: .seconds(60))), JobRecord.test("never")
      )
      try await fixture.broker.push([claimed])
      _ = try await consumer.claimAll(1)
      try await fixture.broker.push([ready, delayed])
      let ids = [ready, claimed, delayed, never].map(\.id)
      #expect(try await fixture.broker.missing(ids, in: .default) == [never.id])
      #expect(try await fixture.broker.missing([], in: .default).isEmpty)
      #expect(try await fixture.broker.missing(ids, in: "other") == ids)
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aRecordArrivesAsItWasSent(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let consumer = try await fixture.join()
      var sent: [JobRecord] = []
      for isDurable in [true, false] {
        for priority in JobPriority.allCases {
          sent.append(.test("grüße \u{0} \r\n", kind: "a.ä", priority: priority, version: 7, isDurable: isDurable))
          sent.append(.test("", priority: priority, isDurable: isDurable))
          sent.append(.test(String(repeating: "long", count: 50_000), priority: priority, isDurable: isDurable))
        }
      }
      sent[0].attempts = 3
      sent[9].failures = [JobFailure(attempt: 1, at: 5, error: "no \"luck\"", worker: "w")]
      try await fixture.broker.push(sent)
      let claims = try await consumer.claimAll(sent.count)
      // But for large payloads, which the ledger has.
      #expect(Set(claims.map(\.record)) == Set(sent.carried))
      #expect(claims.first { $0.record.id == sent[0].id }?.attempt == 4)
      #expect(claims.first { $0.record.id == sent[1].id }?.attempt == 1)
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func queuesDoNotMix(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let (one, other) = (try await fixture.join(queue: "one"), try await fixture.join(queue: "other"))
      try await fixture.broker.push([.test("1", queue: "one"), .test("2", queue: "other"), .test("3", queue: "one")])
      #expect(try await one.claimAll(2).map(\.record.text) == ["1", "3"])
      #expect(try await other.claimAll(1).map(\.record.text) == ["2"])
      #expect(try await fixture.statistics("one") == QueueStatistics(ready: 0, claimed: 2, delayed: 0, workers: 1))
      #expect(try await fixture.statistics("nobody's") == .empty)
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func whatWasPushedBeforeAnybodyJoinedIsThere(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      try await fixture.broker.push([.test("1")])
      try await fixture.broker.push([.test("2", isDurable: false)])
      #expect(try await fixture.statistics() == QueueStatistics(ready: 2, claimed: 0, delayed: 0, workers: 0))
      #expect(try await fixture.join().claimAll(2).map(\.record.text) == ["1", "2"])
    }
  }
}
