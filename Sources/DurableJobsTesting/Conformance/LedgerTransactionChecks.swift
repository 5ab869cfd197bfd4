import DurableJobs

/// What commits with the app's transaction, and which call completes a job.
enum LedgerTransactionChecks {
  static let all: [LedgerCheck] = [
    LedgerCheck("a job is pending from commit to completion") { try await aJobIsPendingFromCommitToCompletion($0) },
    LedgerCheck("a rollback undoes everything") { try await aRollbackUndoesAll($0) },
    LedgerCheck("empty lists are fine") { try await emptyListsAreFine($0) },
    LedgerCheck("a job being completed in a transaction that commits is held") {
      try await aJobBeingCompletedIsHeld($0, firstCommits: true)
    },
    LedgerCheck("a job being completed in a transaction that rolls back is held") {
      try await aJobBeingCompletedIsHeld($0, firstCommits: false)
    },
    LedgerCheck("one of many racing completions counts") { try await oneOfManyCompletionsCounts($0) },
    LedgerCheck("completing twice in one transaction counts once") { try await completingTwiceCountsOnce($0) },
    LedgerCheck("jobs complete outside a transaction too") { try await completingOutsideATransaction($0) },
    LedgerCheck("large payloads are read by themselves") { try await largePayloadsAreReadByThemselves($0) },
    LedgerCheck("records come in batches of bytes") { try await recordsComeInBatchesOfBytes($0) },
  ]

  private static func aJobIsPendingFromCommitToCompletion(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    var jobs = [
      JobRecord.test(
        "{\"text\": \"grüße\"}", kind: "a", queue: "q", priority: .high, version: 3, runAt: 1_700_000_000_123,
        uniqueKey: "once"),
      JobRecord.test("{}", kind: "b", queue: "q", priority: .low),
    ]
    (jobs[0].trace, jobs[0].maxAttempts, jobs[0].timeout) = (.begin(), 3, .milliseconds(1500))
    let (ids, added) = (jobs.map(\.id), jobs)
    try await ledger.withTransaction { transaction async throws in
      try await expect(ledger.add(added, in: transaction), equals: ids)
      try await expect(ledger.pending(ids, queue: "q").isEmpty)
    }
    try await expect(Set(ledger.pending(ids + [.next()], queue: "q")), equals: Set(ids))
    try await expect(Set(ledger.records(ids, queue: "q")), equals: Set(added))
    try await expect(ledger.allPendingIDs("q"), equals: ids)
    try await expect(ledger.pending(ids, queue: "other").isEmpty)

    try await expect(ledger.completeAlone(ids, queue: "other").isEmpty)
    try await expect(Set(ledger.completeAlone(ids + [.next()], queue: "q")), equals: Set(ids))
    try await expect(ledger.pending(ids, queue: "q").isEmpty)
    try await expect(ledger.records(ids, queue: "q").isEmpty)
    try await expect(ledger.completeAlone(ids, queue: "q").isEmpty)
  }

  private static func aRollbackUndoesAll(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let (old, new) = (JobRecord.test(), JobRecord.test())
    try await expect(ledger.add(old), equals: [old.id])
    try await expect(throwing: Rollback.self) {
      try await ledger.withTransaction { transaction async throws in
        try await expect(ledger.complete([old.id], queue: .default, in: transaction).ended, equals: [old.id])
        try await ledger.add([new], in: transaction)
        throw Rollback()
      }
    }
    try await expect(ledger.allPendingIDs(), equals: [old.id])
    try await expect(ledger.completeAlone([old.id]), equals: [old.id])
  }

  private static func emptyListsAreFine(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    try await ledger.withTransaction { transaction async throws in
      try await expect(ledger.add([], in: transaction).isEmpty)
      try await expect(ledger.complete([], queue: .default, in: transaction), equals: Completion(ended: []))
    }
    try await ledger.complete([], queue: .default)
    try await ledger.deadLetter([])
    try await ledger.park([])
    try await ledger.recordFailures([], queue: .default)
    try await expect(ledger.records([], queue: .default).isEmpty)
    try await expect(ledger.pending([], queue: .default).isEmpty)
  }

  private static func aJobBeingCompletedIsHeld(
    _ subject: some LedgerUnderTest, firstCommits: Bool
  ) async throws {
    let ledger = subject.ledger
    let (job, other) = (JobRecord.test(), JobRecord.test())
    _ = try await ledger.add(job, other)
    let (isCompleted, mayEnd) = (Gate(), Gate())
    async let first: Void = ledger.withTransaction { transaction async throws in
      try await expect(ledger.complete([job.id], queue: .default, in: transaction).ended, equals: [job.id])
      isCompleted.open()
      try await mayEnd.wait()
      if !firstCommits { throw Rollback() }
    }
    try await isCompleted.wait()
    // The call neither completes the job nor waits for it: the gate opens only after it has returned.
    let completion = try await ledger.withTransaction { transaction async throws in
      try await ledger.complete([job.id, other.id], queue: .default, in: transaction)
    }
    try expect(completion, equals: Completion(ended: [other.id], held: [job.id]))
    mayEnd.open()
    do { try await first } catch is Rollback { try expect(!firstCommits) }
    try await expect(ledger.completeAlone([job.id]), equals: (firstCommits ? [] : [job.id]))
    try await expect(ledger.allPendingIDs().isEmpty)
  }

  private static func oneOfManyCompletionsCounts(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
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
    try expect(won.sorted(), equals: jobs.map(\.id))
  }

  private static func completingTwiceCountsOnce(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let job = JobRecord.test()
    _ = try await ledger.add(job)
    try await ledger.withTransaction { transaction async throws in
      try await expect(ledger.complete([job.id, job.id], queue: .default, in: transaction).ended, equals: [job.id])
      try await expect(ledger.complete([job.id], queue: .default, in: transaction), equals: Completion(ended: []))
    }
  }

  private static func completingOutsideATransaction(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let (done, left) = (JobRecord.test(), JobRecord.test())
    _ = try await ledger.add(done, left)
    try await ledger.complete([done.id, .next()], queue: .default)
    try await expect(ledger.allPendingIDs(), equals: [left.id])
  }

  private static func largePayloadsAreReadByThemselves(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    func job(_ bytes: Int) -> JobRecord { .test(String(repeating: "ß", count: bytes / 2), version: 2) }
    let jobs = [job(PayloadLimit.carried), job(PayloadLimit.carried + 2), job(1 << 20), job(10)]
    let ids = jobs.map(\.id)
    try await ledger.withTransaction { _ = try await ledger.add(jobs, in: $0) }
    let records = try await ledger.records(ids.reversed(), queue: .default)
    try expect(records.map(\.id), equals: ids)
    try expect(records.map(\.payload), equals: [jobs[0].payload, [], [], jobs[3].payload])
    try expect(records.map(\.payloadInLedger), equals: [nil, PayloadLimit.carried + 2, 1 << 20, nil])
    try await ledger.park([records[2]])
    let payloads = try await ledger.payloads(ids + [.next()], queue: .default)
    try expect(payloads.count, equals: 4)
    for job in jobs { try expect(payloads[job.id], equals: job.payload) }
    try await expect(ledger.payloads(ids, queue: "other").isEmpty)
    try await expect(ledger.completeAlone(Array(ids.dropLast())), equals: Array(ids.dropLast()))
    try await expect(ledger.payloads(ids, queue: .default), equals: [ids[3]: jobs[3].payload])
  }

  private static func recordsComeInBatchesOfBytes(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    // Some are as large as the broker carries; the others stay in the ledger, so their bytes do not count.
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
    try expect(pages.flatMap { $0 }.map(\.id), equals: jobs.map(\.id))
    try expect(pages.count, equals: 2)
    for page in pages { try expect(page.reduce(0) { $0 + $1.payload.count } <= PayloadLimit.batch) }
  }
}
