import Jobs
import JobsTestSupport
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
      #expect(try await ledger.allOwedIDs() == [usual.id])
      #expect(try await ledger.records([newer.id, unknown.id, usual.id], queue: .default) == [usual])

      #expect(try await ledger.unpark(queue: .default, kinds: ["a": 1]) == 0)
      #expect(try await ledger.unpark(queue: .default, kinds: [:]) == 0)
      #expect(try await ledger.unpark(queue: .default, kinds: ["a": 2, "c": 9]) == 1)
      #expect(try await ledger.allOwedIDs() == [newer.id, usual.id])
      #expect(try await ledger.records([newer.id], queue: .default) == [newer])
      #expect(try await ledger.unpark(queue: .default, kinds: ["a": 3, "b": 1]) == 1)
      #expect(try await Set(ledger.allOwedIDs()) == [newer.id, unknown.id, usual.id])
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
      #expect(try await ledger.allOwedIDs() == [job.id])
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
      #expect(try await ledger.allOwedIDs().isEmpty)
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
          try await ledger.owedIDs(queue: .default, after: pages.last?.last, before: last, limit: 7))
      }
      #expect(pages.map(\.count) == [7, 7, 4])
      #expect(pages.flatMap { $0 } == mine.filter { $0 < last })
    }
  }
}
