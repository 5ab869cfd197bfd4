import DurableJobs

/// Operators' actions on a queue in the broker.
enum BrokerAdminChecks {
  static let all: [BrokerCheck] = [
    BrokerCheck("depth counts jobs by priority and state") { try await depthCountsJobs($0) },
    BrokerCheck("the oldest ready job is not a claimed one") { try await theOldestReadyJobIsUnclaimed($0) },
    BrokerCheck("removed jobs are gone, claimed ones stay") { try await removedJobsAreGone($0) },
    BrokerCheck("rescheduled jobs wait for their new time") { try await rescheduledJobsWaitForTheirNewTime($0) },
    BrokerCheck("a ready job keeps its place when it is due at once") { try await readyJobsStayReady($0) },
    BrokerCheck("clearing forgets all unclaimed jobs") { try await clearingForgetsUnclaimedJobs($0) },
    BrokerCheck("waking a claim leaves later ones as they are") { try await wakingEndsOneWait($0) },
    BrokerCheck("pauses of queues are remembered") { try await pausesAreRemembered($0) },
  ]

  private static func later(_ text: String, after: Duration = .seconds(600)) -> JobRecord {
    .test(text, runAt: milliseconds(fromNow: after))
  }

  private static func depthCountsJobs(_ subject: BrokerUnderTest) async throws {
    let broker = subject.broker
    try await expect(broker.depth(of: .default), equals: QueueDepth())
    let before = milliseconds(fromNow: .zero)
    try await broker.push([
      .test("high", priority: .high), .test("normal"), .test("low", priority: .low),
      .test("fleeting", isDurable: false),
      later("later"),
    ])
    let first = try await broker.depth(of: .default)
    let oldest = try require(first.oldestReadyAt)
    // Two clocks of one machine may differ by a rounded millisecond.
    try expect((before - 2...milliseconds(fromNow: .milliseconds(2))).contains(oldest.unixMilliseconds))
    try expect(first, equals: QueueDepth(high: 1, normal: 2, low: 1, delayed: 1, known: 4, oldestReadyAt: oldest))

    let consumer = try await subject.join()
    let claims = try await consumer.claim(1, wait: .seconds(10))
    try expect(claims.map(\.readyAt.unixMilliseconds).allSatisfy { $0 >= before - 2 })
    let second = try await broker.depth(of: .default)
    try expect(second.claimed == claims.count && second.ready == 4 - claims.count && second.known == 4)
    try expect(second.workers == 1 && second.delayed == 1)
    try await consumer.acknowledge(claims)
    try await consumer.acknowledge(try await consumer.claimAll(4 - claims.count))
    try await expect(broker.depth(of: .default), equals: QueueDepth(delayed: 1, known: 1, workers: 1))
  }

  private static func theOldestReadyJobIsUnclaimed(_ subject: BrokerUnderTest) async throws {
    let consumer = try await subject.join()
    try await subject.broker.push([.test("claimed")])
    _ = try await consumer.claimAll(1)
    try await expect(subject.broker.depth(of: .default).oldestReadyAt, equals: nil)
    let between = milliseconds(fromNow: .zero)
    try await subject.broker.push([.test("ready")])
    let oldest = try await subject.broker.depth(of: .default).oldestReadyAt
    try expect(try require(oldest).unixMilliseconds >= between - 2)
  }

  private static func removedJobsAreGone(_ subject: BrokerUnderTest) async throws {
    let broker = subject.broker
    let consumer = try await subject.join()
    let (claimed, ready, delayed, never) = (
      JobRecord.test("claimed"), JobRecord.test("ready"), later("later"), JobRecord.test("never")
    )
    try await broker.push([claimed])
    let claims = try await consumer.claimAll(1)
    try await broker.push([ready, delayed, .test("stays")])
    let ids = [claimed, ready, delayed, never].map(\.id)
    try await expect(Set(broker.remove(ids, from: .default)), equals: [ready.id, delayed.id])
    try await expect(broker.remove([], from: .default).isEmpty)
    try await expect(Set(broker.missing(ids, in: .default)), equals: [ready.id, delayed.id, never.id])
    try await expect(subject.counts(), equals: QueueCounts(ready: 1, claimed: 1, workers: 1))
    try await consumer.acknowledge(claims)
    try await expect(consumer.claimAll(1).map(\.record.text), equals: ["stays"])
    // A removed job can be pushed again.
    try await broker.push([ready])
    try await expect(consumer.claimAll(1).map(\.record.text), equals: ["ready"])
  }

  private static func rescheduledJobsWaitForTheirNewTime(_ subject: BrokerUnderTest) async throws {
    let broker = subject.broker
    let consumer = try await subject.join()
    let (claimed, ready, delayed, never) = (
      JobRecord.test("claimed"), JobRecord.test("ready"), later("later"), JobRecord.test("never")
    )
    try await broker.push([claimed])
    _ = try await consumer.claimAll(1)
    try await broker.push([ready, delayed])
    let ids = [claimed, ready, delayed, never].map(\.id)
    let far = milliseconds(fromNow: .seconds(1200))
    try await expect(
      Set(broker.reschedule(ids, in: .default, to: .init(unixMilliseconds: far))), equals: [ready.id, delayed.id])
    try await expect(subject.counts(), equals: QueueCounts(claimed: 1, delayed: 2, workers: 1))
    try await expect(broker.missing(ids, in: .default), equals: [never.id])
    // Pushing a known job does not promote it.
    try await broker.push([ready])
    try await expect(subject.counts().ready, equals: 0)

    try await expect(
      Set(broker.reschedule([delayed.id, ready.id], in: .default, to: .init(unixMilliseconds: 0))),
      equals: [ready.id, delayed.id])
    try await expect(Set(consumer.claimAll(2).map(\.record.id)), equals: [ready.id, delayed.id])
  }

  private static func readyJobsStayReady(_ subject: BrokerUnderTest) async throws {
    let (first, second) = (JobRecord.test("first"), JobRecord.test("second"))
    try await subject.broker.push([first, second])
    try await expect(
      subject.broker.reschedule([first.id], in: .default, to: .init(unixMilliseconds: 0)), equals: [first.id])
    try await expect(subject.join().claimAll(2).map(\.record.text), equals: ["first", "second"])
  }

  private static func clearingForgetsUnclaimedJobs(_ subject: BrokerUnderTest) async throws {
    let broker = subject.broker
    let consumer = try await subject.join()
    try await broker.push([.test("claimed")])
    let claims = try await consumer.claimAll(1)
    let records = (0..<1200).map { number -> JobRecord in
      number % 3 == 0 ? later("\(number)") : .test("\(number)", isDurable: number % 2 == 0)
    }
    try await broker.push(records + [.test("other", queue: "other")])
    try await expect(broker.clear(.default), equals: 1200)
    try await expect(broker.clear(.default), equals: 0)
    try await expect(broker.depth(of: .default), equals: QueueDepth(claimed: 1, known: 1, workers: 1))
    try await expect(broker.depth(of: "other").ready, equals: 1)
    try await expect(broker.clear("nobody's"), equals: 0)
    try await consumer.acknowledge(claims)
    // The queue still works.
    try await broker.push([.test("new")])
    try await expect(consumer.claimAll(1).map(\.record.text), equals: ["new"])
  }

  private static func wakingEndsOneWait(_ subject: BrokerUnderTest) async throws {
    // The read may wait for 300 s: only waking it ends it within the suite's limit.
    let consumer = try await subject.join(lease: .seconds(1200))
    try await withThrowingTaskGroup(of: [Claim]?.self) { group in
      group.addTask { try await consumer.claim(5, wait: .seconds(600)) }
      group.addTask {
        // The check cannot see whether the claim is already waiting.
        while !Task.isCancelled {
          await consumer.wakeClaim()
          do { try await Task.sleep(for: .milliseconds(5)) } catch { break }
        }
        return nil
      }
      let claims = try await group.next()
      try expect(claims??.isEmpty, equals: true)
      group.cancelAll()
    }
    try await subject.broker.push([.test("later")])
    try await expect(consumer.claimAll(1).map(\.record.text), equals: ["later"])
  }

  private static func pausesAreRemembered(_ subject: BrokerUnderTest) async throws {
    try await expect(!subject.broker.remembersPause(of: "a"))
    try await subject.broker.rememberPause(true, of: "a")
    try await expect(subject.broker.remembersPause(of: "a"))
    try await expect(!subject.broker.remembersPause(of: "b"))
    try await subject.broker.rememberPause(false, of: "a")
    try await expect(!subject.broker.remembersPause(of: "a"))
  }
}
