import DurableJobs
import DurableJobsPostgres
import JobsTestSupport
import LibPQClient
import Testing

@Suite(.timeLimit(.minutes(5))) struct LedgerParkTests {
  @Test(arguments: LedgerKind.allCases)
  func parkedJobsWaitForAWorkerThatKnowsThem(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let (newer, unknown, elsewhere, usual) = (
        JobRecord.test(kind: "a", version: 2), JobRecord.test(kind: "b"),
        JobRecord.test(kind: "a", queue: "other", version: 2), JobRecord.test(kind: "a")
      )
      _ = try await ledger.add(newer, unknown, elsewhere, usual)
      try await ledger.park([newer, unknown, elsewhere])
      #expect(try await ledger.allPendingIDs() == [usual.id])
      #expect(try await ledger.records([newer.id, unknown.id, usual.id], queue: .default) == [usual])

      #expect(try await ledger.unpark(queue: .default, kinds: ["a": 1]) == 0)
      #expect(try await ledger.unpark(queue: .default, kinds: [:]) == 0)
      #expect(try await ledger.unpark(queue: .default, kinds: ["a": 2, "c": 9]) == 1)
      #expect(try await ledger.allPendingIDs() == [newer.id, usual.id])
      #expect(try await ledger.records([newer.id], queue: .default) == [newer])
      #expect(try await ledger.unpark(queue: .default, kinds: ["a": 3, "b": 1]) == 1)
      #expect(try await Set(ledger.allPendingIDs()) == [newer.id, unknown.id, usual.id])
      #expect(try await ledger.unpark(queue: "other", kinds: ["a": 3]) == 1)
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func aFleetingJobIsOwedOnceItIsParked(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let job = JobRecord.test("{\"a\": 1}", kind: "a", isDurable: false)
      try await ledger.park([job])
      #expect(try await ledger.unpark(queue: .default, kinds: ["a": 1]) == 1)
      #expect(try await ledger.allPendingIDs() == [job.id])
      let record = try await ledger.records([job.id], queue: .default).first
      #expect(record?.isDurable == true)
      #expect(record?.payload == job.payload)
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func aJobThatIsDoneIsNotParked(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let job = JobRecord.test(kind: "a")
      _ = try await ledger.add(job)
      _ = try await ledger.completeAlone([job.id])
      try await ledger.park([job])
      #expect(try await ledger.unpark(queue: .default, kinds: ["a": 1]) == 0)
      #expect(try await ledger.allPendingIDs().isEmpty)
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func owedIDsComeInPages(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let jobs = (0..<25).map { JobRecord.test("\($0)", queue: $0 % 5 == 4 ? "other" : .default) }
      try await ledger.withTransaction { _ = try await ledger.add(jobs.shuffled(), in: $0) }
      let (last, mine) = (jobs[22].id, jobs.filter { $0.queue == .default }.map(\.id))
      var pages: [[JobID]] = []
      while pages.last?.count ?? 7 == 7 {
        pages.append(
          try await ledger.pendingIDs(queue: .default, after: pages.last?.last, before: last, limit: 7))
      }
      #expect(pages.map(\.count) == [7, 7, 4])
      #expect(pages.flatMap { $0 } == mine.filter { $0 < last })
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func theNewestOwedIDsComeFirst(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let jobs = (0..<25).map { JobRecord.test("\($0)", queue: $0 % 5 == 4 ? "other" : .default) }
      try await ledger.withTransaction { _ = try await ledger.add(jobs.shuffled(), in: $0) }
      let mine = jobs.filter { $0.queue == .default }.map(\.id)
      var pages: [[JobID]] = []
      while pages.last?.count ?? 7 == 7 {
        pages.append(
          try await ledger.newestPendingIDs(
            queue: .default, after: mine[1], before: pages.last?.last ?? JobID(high: .max, low: .max), age: .zero,
            limit: 7))
      }
      #expect(pages.map(\.count) == [7, 7, 4])
      #expect(pages.flatMap { $0 } == mine.dropFirst(2).reversed())
      let young = try await ledger.newestPendingIDs(
        queue: .default, after: mine[1], before: JobID(high: .max, low: .max), age: .seconds(60), limit: 7)
      #expect(young.isEmpty, "none is pending for a minute")
    }
  }

  /// A process whose clock is ahead makes such ids; the ledger knows better since when they are pending.
  @Test func anIDFromTheFutureAgesByTheLedgersClock() async throws {
    try await PostgresLedgerFixture.with { fixture in
      var job = JobRecord.test()
      job.id = JobID(high: job.id.high + UInt64(3_600_000) << 16, low: job.id.low)
      _ = try await fixture.ledger.add(job)
      func old() async throws -> [JobID] {
        try await fixture.ledger.newestPendingIDs(
          queue: .default, after: JobID(high: 0, low: 0), before: JobID(high: .max, low: .max), age: .seconds(60),
          limit: 7)
      }
      #expect(try await old().isEmpty)
      try await fixture.pool.execute("UPDATE jobs SET created_at = created_at - interval '61 s'")
      #expect(try await old() == [job.id])
    }
  }

  @Test func whyAJobIsRefusedIsKeptWithIt() async throws {
    try await PostgresLedgerFixture.with { fixture in
      let jobs = [JobRecord.test(), JobRecord.test()]
      _ = try await fixture.ledger.add(jobs[0], jobs[1])
      // Times that milliseconds cannot say, which somebody has written.
      try await fixture.pool.execute("UPDATE jobs SET run_at = 'infinity' WHERE id = \(PostgresUUID(jobs[0].id))")
      #expect(try await fixture.ledger.records([jobs[0].id], queue: .default).first?.runAt == 253_402_214_400_000)
      try await fixture.ledger.refuse([jobs[1].id: "no such thing"], queue: .default)
      let refused = try await fixture.pool.query("SELECT id, refusal FROM jobs WHERE refusal IS NOT NULL")
        .decode(PostgresUUID.self, String.self)
      #expect(refused.count == 1 && refused.first?.0 == PostgresUUID(jobs[1].id) && refused.first?.1 == "no such thing")
    }
  }
}
