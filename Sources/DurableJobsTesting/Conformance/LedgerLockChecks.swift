import DurableJobs

/// While a transaction that completes a job is open, no call that settles the job waits for it or treats it as done.
enum LedgerLockChecks {
  static let all: [LedgerCheck] = [
    LedgerCheck("settling passes held jobs by") { try await settlingPassesHeldJobsBy($0) },
    LedgerCheck("missing jobs are not held") { try await missingJobsAreNotHeld($0) },
  ]

  /// Runs `body` while a transaction holds `job`; the transaction is rolled back afterwards.
  private static func holding(
    _ job: JobRecord, of ledger: some Ledger, _ body: @Sendable () async throws -> Void
  ) async throws {
    let (isHeld, mayEnd) = (Gate(), Gate())
    async let holder: Void = ledger.withTransaction { transaction async throws in
      _ = try await ledger.complete([job.id], queue: .default, in: transaction)
      isHeld.open()
      try await mayEnd.wait()
      throw Rollback()
    }
    try await isHeld.wait()
    do {
      try await body()
    } catch {
      mayEnd.open()
      throw error
    }
    mayEnd.open()
    do { try await holder } catch is Rollback {}
  }

  private static func failure(_ attempt: Int) -> JobFailure {
    JobFailure(attempt: attempt, at: .init(unixMilliseconds: 1), error: "no", worker: "w")
  }

  private static func settlingPassesHeldJobsBy(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let (held, free) = (JobRecord.test("held"), (0..<7).map { JobRecord.test("\($0)") })
    try await ledger.withTransaction { _ = try await ledger.add([held] + free, in: $0) }
    try await holding(held, of: ledger) { () async throws in
      try await expect(ledger.complete([held.id, free[0].id], queue: .default), equals: [held.id])
      try await expect(ledger.cancel([held.id, free[1].id], queue: .default), equals: [held.id])
      try await expect(
        ledger.recordFailures(
          [held, free[2]].map { FailedJob(id: $0.id, failure: failure(1), runAt: .init(unixMilliseconds: 5)) },
          queue: .default),
        equals: [held.id])
      try await expect(
        ledger.deadLetter(
          [held, free[3]].map { DeadJob(record: $0, attempts: 1, failure: failure(1)) }), equals: [held.id])
      try await expect(ledger.park([held, free[4]]), equals: [held.id])
      try await expect(
        ledger.discard([held, free[6]].map { DeadJob(record: $0, attempts: 1, failure: failure(1)) }),
        equals: [held.id])
      try await expect(
        ledger.postpone(
          [held.id: .init(unixMilliseconds: 5), free[5].id: .init(unixMilliseconds: 5)], queue: .default),
        equals: [held.id])
    }
    try await expect(Set(subject.deadLetters().keys), equals: [free[3].id])
    try await expect(
      subject.finishedJobs().mapValues(\.state), equals: [free[1].id: .cancelled, free[6].id: .discarded])
    // Unchanged: no failure recorded, not parked.
    let records = try await ledger.records([held.id] + free.map(\.id), queue: .default)
    try expect(Set(records.map(\.id)), equals: [held.id, free[2].id, free[5].id])
    try expect(records.first { $0.id == held.id }, equals: held)
    try expect(records.first { $0.id == free[2].id }?.attempts, equals: 1)
    try expect(records.first { $0.id == free[5].id }?.runAt, equals: .init(unixMilliseconds: 5))
    try await expect(ledger.completeAlone([held.id]), equals: [held.id])
  }

  private static func missingJobsAreNotHeld(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let gone = JobRecord.test()
    try await expect(ledger.complete([gone.id], queue: .default).isEmpty)
    try await expect(ledger.cancel([gone.id], queue: .default).isEmpty)
    try await expect(
      ledger.recordFailures(
        [FailedJob(id: gone.id, failure: failure(1), runAt: .init(unixMilliseconds: 5))], queue: .default
      )
      .isEmpty)
    try await expect(ledger.deadLetter([DeadJob(record: gone, attempts: 1, failure: failure(1))]).isEmpty)
    try await expect(ledger.discard([DeadJob(record: gone, attempts: 1, failure: failure(1))]).isEmpty)
    try await expect(ledger.park([gone]).isEmpty)
    try await expect(ledger.postpone([gone.id: .init(unixMilliseconds: 5)], queue: .default).isEmpty)
    try await expect(subject.deadLetters().isEmpty)
  }
}
