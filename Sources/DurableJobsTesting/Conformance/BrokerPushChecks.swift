import DurableJobs

/// How jobs enter a broker, and which jobs it knows.
enum BrokerPushChecks {
  static let all: [BrokerCheck] = [
    BrokerCheck("pushing a known job changes nothing") { try await pushingAKnownJobChangesNothing($0) },
    BrokerCheck("pushing a delayed job twice delays it once") { try await pushingADelayedJobTwiceDelaysItOnce($0) },
    BrokerCheck("a finished job is forgotten and can be pushed again") { try await aFinishedJobIsForgotten($0) },
    BrokerCheck("jobs that are neither ready nor delayed nor claimed are missing") {
      try await missingJobsAreNamed($0)
    },
    BrokerCheck("a record arrives as it was sent") { try await aRecordArrivesAsItWasSent($0) },
    BrokerCheck("queues do not mix") { try await queuesDoNotMix($0) },
    BrokerCheck("jobs pushed before any consumer joined are kept") {
      try await jobsPushedBeforeAnyConsumerJoinedAreKept($0)
    },
  ]

  private static func pushingAKnownJobChangesNothing(_ subject: BrokerUnderTest) async throws {
    let consumer = try await subject.join()
    let job = JobRecord.test("first")
    try await subject.broker.push([job, job])
    try await subject.broker.push([job])
    try await expect(subject.counts(), equals: QueueCounts(ready: 1, workers: 1))

    let claims = try await consumer.claimAll(1)
    try await subject.broker.push([job])
    try await expect(subject.counts(), equals: QueueCounts(claimed: 1, workers: 1))

    var again = job
    again.attempts = 1
    try await consumer.retry(claims.map { ClaimRetry(claim: $0, delay: .seconds(60), record: again) })
    try await subject.broker.push([job])
    try await expect(subject.counts(), equals: QueueCounts(delayed: 1, workers: 1))
  }

  private static func pushingADelayedJobTwiceDelaysItOnce(_ subject: BrokerUnderTest) async throws {
    _ = try await subject.join()
    let job = JobRecord.test(runAt: milliseconds(fromNow: .seconds(60)))
    try await subject.broker.push([job])
    try await subject.broker.push([job])
    try await expect(subject.counts(), equals: QueueCounts(delayed: 1, workers: 1))
    try await expect(subject.broker.missing([job.id], in: .default).isEmpty)
  }

  private static func aFinishedJobIsForgotten(_ subject: BrokerUnderTest) async throws {
    let consumer = try await subject.join()
    let job = JobRecord.test()
    try await subject.broker.push([job])
    try await consumer.acknowledge(try await consumer.claimAll(1))
    try await expect(subject.counts(), equals: QueueCounts(workers: 1))
    try await expect(subject.broker.missing([job.id], in: .default), equals: [job.id])

    try await subject.broker.push([job])
    try await expect(consumer.claimAll(1).map(\.record.id), equals: [job.id])
  }

  private static func missingJobsAreNamed(_ subject: BrokerUnderTest) async throws {
    let consumer = try await subject.join()
    let (ready, claimed, delayed, never) = (
      JobRecord.test("ready"), JobRecord.test("claimed"),
      JobRecord.test("delayed", runAt: milliseconds(fromNow: .seconds(60))), JobRecord.test("never")
    )
    try await subject.broker.push([claimed])
    _ = try await consumer.claimAll(1)
    try await subject.broker.push([ready, delayed])
    let ids = [ready, claimed, delayed, never].map(\.id)
    try await expect(subject.broker.missing(ids, in: .default), equals: [never.id])
    try await expect(subject.broker.missing([], in: .default).isEmpty)
    try await expect(subject.broker.missing(ids, in: "other"), equals: ids)
  }

  private static func aRecordArrivesAsItWasSent(_ subject: BrokerUnderTest) async throws {
    let consumer = try await subject.join()
    var sent: [JobRecord] = []
    for isDurable in [true, false] {
      for priority in JobPriority.allCases {
        sent.append(.test("grüße \u{0} \r\n", kind: "a.ä", priority: priority, version: 7, isDurable: isDurable))
        sent.append(.test("", priority: priority, isDurable: isDurable))
        sent.append(.test(String(repeating: "long", count: 50_000), priority: priority, isDurable: isDurable))
      }
    }
    sent[0].attempts = 3
    sent[9].failures = [JobFailure(attempt: 1, at: .init(unixMilliseconds: 5), error: "no \"luck\"", worker: "w")]
    try await subject.broker.push(sent)
    let claims = try await consumer.claimAll(sent.count)
    // Except for large payloads, which stay in the ledger.
    try expect(Set(claims.map(\.record)), equals: Set(sent.carried))
    try expect(claims.first { $0.record.id == sent[0].id }?.attempt, equals: 4)
    try expect(claims.first { $0.record.id == sent[1].id }?.attempt, equals: 1)
  }

  private static func queuesDoNotMix(_ subject: BrokerUnderTest) async throws {
    let (one, other) = (try await subject.join(queue: "one"), try await subject.join(queue: "other"))
    try await subject.broker.push([.test("1", queue: "one"), .test("2", queue: "other"), .test("3", queue: "one")])
    try await expect(one.claimAll(2).map(\.record.text), equals: ["1", "3"])
    try await expect(other.claimAll(1).map(\.record.text), equals: ["2"])
    try await expect(subject.counts("one"), equals: QueueCounts(claimed: 2, workers: 1))
    try await expect(subject.counts("nobody's"), equals: QueueCounts())
  }

  private static func jobsPushedBeforeAnyConsumerJoinedAreKept(_ subject: BrokerUnderTest) async throws {
    try await subject.broker.push([.test("1")])
    try await subject.broker.push([.test("2", isDurable: false)])
    try await expect(subject.counts(), equals: QueueCounts(ready: 2))
    try await expect(subject.join().claimAll(2).map(\.record.text), equals: ["1", "2"])
  }
}
