import DurableJobs
import JobsTestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct LedgerTransactionTests {
  @Test(arguments: LedgerKind.allCases)
  func aJobIsOwedFromCommitToCompletion(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let jobs = [
        JobRecord.test(
          "{\"text\": \"grüße\"}", kind: "a", queue: "q", priority: .high, version: 3, runAt: 1_700_000_000_123,
          uniqueKey: "once"),
        JobRecord.test("{}", kind: "b", queue: "q", priority: .low),
      ]
      let ids = jobs.map(\.id)
      try await ledger.withTransaction { transaction async throws in
        #expect(try await ledger.add(jobs, in: transaction) == ids)
        #expect(try await ledger.pending(ids, queue: "q").isEmpty)
      }
      #expect(try await Set(ledger.pending(ids + [.next()], queue: "q")) == Set(ids))
      #expect(try await Set(ledger.records(ids, queue: "q")) == Set(jobs))
      #expect(try await ledger.allPendingIDs("q") == ids)
      #expect(try await ledger.pending(ids, queue: "other").isEmpty)

      #expect(try await ledger.completeAlone(ids, queue: "other").isEmpty)
      #expect(try await Set(ledger.completeAlone(ids + [.next()], queue: "q")) == Set(ids))
      #expect(try await ledger.pending(ids, queue: "q").isEmpty)
      #expect(try await ledger.records(ids, queue: "q").isEmpty)
      #expect(try await ledger.completeAlone(ids, queue: "q").isEmpty)
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func aRollbackUndoesAll(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let (old, new) = (JobRecord.test(), JobRecord.test())
      #expect(try await ledger.add(old) == [old.id])
      await #expect(throws: Rollback.self) {
        try await ledger.withTransaction { transaction async throws in
          #expect(try await ledger.complete([old.id], queue: .default, in: transaction).ended == [old.id])
          try await ledger.add([new], in: transaction)
          throw Rollback()
        }
      }
      #expect(try await ledger.allPendingIDs() == [old.id])
      #expect(try await ledger.completeAlone([old.id]) == [old.id])
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func nothingToAddOrCompleteIsFine(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      try await ledger.withTransaction { transaction async throws in
        #expect(try await ledger.add([], in: transaction).isEmpty)
        #expect(try await ledger.complete([], queue: .default, in: transaction) == Completion(ended: []))
      }
      try await ledger.complete([], queue: .default)
      try await ledger.deadLetter([])
      try await ledger.park([])
      try await ledger.recordFailures([], queue: .default)
      #expect(try await ledger.records([], queue: .default).isEmpty)
      #expect(try await ledger.pending([], queue: .default).isEmpty)
    }
  }

  @Test(arguments: LedgerKind.allCases, [true, false])
  func aJobThatIsBeingCompletedIsHeld(_ kind: LedgerKind, firstCommits: Bool) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let (job, other) = (JobRecord.test(), JobRecord.test())
      _ = try await ledger.add(job, other)
      let (isCompleted, mayEnd) = (Gate(), Gate())
      async let first: Void = ledger.withTransaction { transaction async throws in
        #expect(try await ledger.complete([job.id], queue: .default, in: transaction).ended == [job.id])
        isCompleted.open()
        try await mayEnd.wait()
        if !firstCommits { throw Rollback() }
      }
      try await isCompleted.wait()
      // Neither done nor waited for: the gate opens only after this has returned.
      let completion = try await ledger.withTransaction { transaction async throws in
        try await ledger.complete([job.id, other.id], queue: .default, in: transaction)
      }
      #expect(completion == Completion(ended: [other.id], held: [job.id]))
      mayEnd.open()
      do { try await first } catch is Rollback { #expect(!firstCommits) }
      #expect(try await ledger.completeAlone([job.id]) == (firstCommits ? [] : [job.id]))
      #expect(try await ledger.allPendingIDs().isEmpty)
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func ofManyRacingCompletionsOneCounts(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let jobs = (0..<40).map { JobRecord.test("\($0)") }
      try await ledger.withTransaction { _ = try await ledger.add(jobs, in: $0) }
      let won = try await withThrowingTaskGroup(of: [JobID].self) { group in
        for _ in 0..<8 {
          group.addTask {
            var won: [JobID] = []
            for chunk in stride(from: 0, to: jobs.count, by: 5) {
              won += try await ledger.completeAlone(jobs[chunk..<chunk + 5].map(\.id))
            }
            return won
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      #expect(won.sorted() == jobs.map(\.id))
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func completingTwiceInOneTransactionCountsOnce(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let job = JobRecord.test()
      _ = try await ledger.add(job)
      try await ledger.withTransaction { transaction async throws in
        #expect(try await ledger.complete([job.id, job.id], queue: .default, in: transaction).ended == [job.id])
        #expect(
          try await ledger.complete([job.id], queue: .default, in: transaction) == Completion(ended: []))
      }
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func completingOutsideATransaction(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let (done, left) = (JobRecord.test(), JobRecord.test())
      _ = try await ledger.add(done, left)
      try await ledger.complete([done.id, .next()], queue: .default)
      #expect(try await ledger.allPendingIDs() == [left.id])
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func largePayloadsAreReadByThemselves(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      func job(_ bytes: Int) -> JobRecord { .test(String(repeating: "ß", count: bytes / 2), version: 2) }
      let jobs = [job(PayloadLimit.carried), job(PayloadLimit.carried + 2), job(1 << 20), job(10)]
      let ids = jobs.map(\.id)
      try await ledger.withTransaction { _ = try await ledger.add(jobs, in: $0) }
      let records = try await ledger.records(ids.reversed(), queue: .default)
      #expect(records.map(\.id) == ids)
      #expect(records.map(\.payload) == [jobs[0].payload, [], [], jobs[3].payload])
      #expect(records.map(\.payloadInLedger) == [nil, PayloadLimit.carried + 2, 1 << 20, nil])
      try await ledger.park([records[2]])
      let payloads = try await ledger.payloads(ids + [.next()], queue: .default)
      #expect(payloads.count == 4)
      for job in jobs { #expect(payloads[job.id] == job.payload) }
      #expect(try await ledger.payloads(ids, queue: "other").isEmpty)
      #expect(try await ledger.completeAlone(Array(ids.dropLast())) == Array(ids.dropLast()))
      #expect(try await ledger.payloads(ids, queue: .default) == [ids[3]: jobs[3].payload])
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func recordsComeInBatchesOfBytes(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      // Each as large as the broker carries it, and some that stay and so weigh nothing.
      let jobs = (0..<600).map { number in
        JobRecord.test(String(repeating: "a", count: number % 3 == 0 ? 20_000 : PayloadLimit.carried))
      }
      try await ledger.withTransaction { _ = try await ledger.add(jobs, in: $0) }
      var rest = jobs.map(\.id)[...]
      var pages: [[JobRecord]] = []
      while let page = try await page(), let last = page.last?.id {
        pages.append(page)
        rest = rest.drop { $0 <= last }
      }
      func page() async throws -> [JobRecord]? {
        rest.isEmpty ? nil : try await ledger.records(Array(rest), queue: .default)
      }
      #expect(pages.flatMap { $0 }.map(\.id) == jobs.map(\.id))
      #expect(pages.count == 2)
      for page in pages { #expect(page.reduce(0) { $0 + $1.payload.count } <= PayloadLimit.batch) }
    }
  }
}
