import DurableJobs
import JobsTestSupport
import Testing

/// What operators do to a queue in the broker.
@Suite(.timeLimit(.minutes(5))) struct BrokerOperationsTests {
  private func later(_ text: String, after: Duration = .seconds(600)) -> JobRecord {
    .test(text, runAt: milliseconds(fromNow: after))
  }

  @Test(arguments: BrokerKind.allCases)
  func depthTellsWhatIsThere(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let broker = fixture.broker
      #expect(try await broker.depth(of: .default) == QueueDepth())
      let before = milliseconds(fromNow: .zero)
      try await broker.push([
        .test("high", priority: .high), .test("normal"), .test("low", priority: .low),
        .test("fleeting", isDurable: false),
        later("later"),
      ])
      let first = try await broker.depth(of: .default)
      let oldest = try #require(first.oldestReadyAt)
      // Two clocks, of one machine: to the millisecond they may differ by rounding.
      #expect((before - 2...milliseconds(fromNow: .milliseconds(2))).contains(oldest))
      #expect(
        first
          == QueueDepth(high: 1, normal: 2, low: 1, delayed: 1, known: 4, oldestReadyAt: oldest))

      let consumer = try await fixture.join()
      let claims = try await consumer.claim(1, wait: .seconds(10))
      #expect(claims.map(\.readyAt).allSatisfy { $0 >= before - 2 })
      let second = try await broker.depth(of: .default)
      #expect(second.claimed == claims.count && second.ready == 4 - claims.count && second.known == 4)
      #expect(second.workers == 1 && second.delayed == 1)
      try await consumer.acknowledge(claims)
      try await consumer.acknowledge(try await consumer.claimAll(4 - claims.count))
      #expect(try await broker.depth(of: .default) == QueueDepth(delayed: 1, known: 1, workers: 1))
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func theOldestReadyJobIsNotOneThatIsClaimed(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let consumer = try await fixture.join()
      try await fixture.broker.push([.test("claimed")])
      _ = try await consumer.claimAll(1)
      #expect(try await fixture.broker.depth(of: .default).oldestReadyAt == nil)
      let between = milliseconds(fromNow: .zero)
      try await fixture.broker.push([.test("ready")])
      let oldest = try await fixture.broker.depth(of: .default).oldestReadyAt
      #expect(try #require(oldest) >= between - 2)
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func removedJobsAreGoneAndClaimedOnesStay(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let broker = fixture.broker
      let consumer = try await fixture.join()
      let (claimed, ready, delayed, never) = (
        JobRecord.test("claimed"), JobRecord.test("ready"), later("later"), JobRecord.test("never")
      )
      try await broker.push([claimed])
      let claims = try await consumer.claimAll(1)
      try await broker.push([ready, delayed, .test("stays")])
      let ids = [claimed, ready, delayed, never].map(\.id)
      #expect(Set(try await broker.remove(ids, from: .default)) == [ready.id, delayed.id])
      #expect(try await broker.remove([], from: .default).isEmpty)
      #expect(Set(try await broker.missing(ids, in: .default)) == [ready.id, delayed.id, never.id])
      #expect(try await fixture.statistics() == QueueStatistics(ready: 1, claimed: 1, delayed: 0, workers: 1))
      try await consumer.acknowledge(claims)
      #expect(try await consumer.claimAll(1).map(\.record.text) == ["stays"])
      // What was removed can be pushed again.
      try await broker.push([ready])
      #expect(try await consumer.claimAll(1).map(\.record.text) == ["ready"])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func rescheduledJobsWaitForTheirNewTime(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let broker = fixture.broker
      let consumer = try await fixture.join()
      let (claimed, ready, delayed, never) = (
        JobRecord.test("claimed"), JobRecord.test("ready"), later("later"), JobRecord.test("never")
      )
      try await broker.push([claimed])
      _ = try await consumer.claimAll(1)
      try await broker.push([ready, delayed])
      let ids = [claimed, ready, delayed, never].map(\.id)
      let far = milliseconds(fromNow: .seconds(1200))
      #expect(Set(try await broker.reschedule(ids, in: .default, to: far)) == [ready.id, delayed.id])
      #expect(try await fixture.statistics() == QueueStatistics(ready: 0, claimed: 1, delayed: 2, workers: 1))
      #expect(try await broker.missing(ids, in: .default) == [never.id])
      // A push of what it knows does not promote it.
      try await broker.push([ready])
      #expect(try await fixture.statistics().ready == 0)

      #expect(Set(try await broker.reschedule([delayed.id, ready.id], in: .default, to: 0)) == [ready.id, delayed.id])
      #expect(Set(try await consumer.claimAll(2).map(\.record.id)) == [ready.id, delayed.id])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func whatIsReadyStaysSoWhenItIsDueAtOnce(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let (first, second) = (JobRecord.test("first"), JobRecord.test("second"))
      try await fixture.broker.push([first, second])
      #expect(try await fixture.broker.reschedule([first.id], in: .default, to: 0) == [first.id])
      #expect(try await fixture.join().claimAll(2).map(\.record.text) == ["first", "second"])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func clearingForgetsAllThatNobodyHasClaimed(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      let broker = fixture.broker
      let consumer = try await fixture.join()
      try await broker.push([.test("claimed")])
      let claims = try await consumer.claimAll(1)
      let records = (0..<1200).map { number -> JobRecord in
        number % 3 == 0 ? later("\(number)") : .test("\(number)", isDurable: number % 2 == 0)
      }
      try await broker.push(records + [.test("other", queue: "other")])
      #expect(try await broker.clear(.default) == 1200)
      #expect(try await broker.clear(.default) == 0)
      #expect(try await broker.depth(of: .default) == QueueDepth(claimed: 1, known: 1, workers: 1))
      #expect(try await broker.depth(of: "other").ready == 1)
      #expect(try await broker.clear("nobody's") == 0)
      try await consumer.acknowledge(claims)
      // It goes on as ever.
      try await broker.push([.test("new")])
      #expect(try await consumer.claimAll(1).map(\.record.text) == ["new"])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func aWaitThatIsEndedLeavesLaterClaimsAsTheyAre(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      // The read may wait for 300 s: only its end can end it within the suite's limit.
      let consumer = try await fixture.join(lease: .seconds(1200))
      try await withThrowingTaskGroup(of: [Claim]?.self) { group in
        group.addTask { try await consumer.claim(5, wait: .seconds(600)) }
        group.addTask {
          // Whether the claim waits already nobody can tell from outside.
          while !Task.isCancelled {
            await consumer.wakeClaim()
            do { try await Task.sleep(for: .milliseconds(5)) } catch { break }
          }
          return nil
        }
        let claims = try await group.next()
        #expect(claims??.isEmpty == true)
        group.cancelAll()
      }
      try await fixture.broker.push([.test("later")])
      #expect(try await consumer.claimAll(1).map(\.record.text) == ["later"])
    }
  }

  @Test(arguments: BrokerKind.allCases)
  func itRemembersWhichQueuesArePaused(_ kind: BrokerKind) async throws {
    try await kind.with { fixture in
      #expect(try await !fixture.broker.remembersPause(of: "a"))
      try await fixture.broker.rememberPause(true, of: "a")
      #expect(try await fixture.broker.remembersPause(of: "a"))
      #expect(try await !fixture.broker.remembersPause(of: "b"))
      try await fixture.broker.rememberPause(false, of: "a")
      #expect(try await !fixture.broker.remembersPause(of: "a"))
    }
  }
}
