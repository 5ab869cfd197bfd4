import DurableJobs

/// Records of finished jobs, kept only where they are useful.
enum LedgerFinishedChecks {
  static let all: [LedgerCheck] = [
    LedgerCheck("jobs done after a failure are kept, others are not") { try await jobsDoneAfterAFailureAreKept($0) },
    LedgerCheck("discarded jobs are kept with their reason") { try await discardedJobsAreKept($0) },
    LedgerCheck("a rollback keeps no record") { try await aRollbackKeepsNoRecord($0) },
    LedgerCheck("cancelled jobs are kept and no longer pending") { try await cancelledJobsAreKept($0) },
    LedgerCheck("a dead letter is no finished job") { try await aDeadLetterIsNoFinishedJob($0) },
  ]

  private static func fail(_ record: JobRecord, _ error: String, attempt: Int = 1, in ledger: some Ledger) async throws
  {
    let failure = JobFailure(attempt: attempt, at: .init(unixMilliseconds: 1), error: error, worker: "w")
    try await ledger.recordFailures(
      [FailedJob(id: record.id, failure: failure, runAt: .init(unixMilliseconds: 2))], queue: record.queue)
  }

  private static func jobsDoneAfterAFailureAreKept(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let (smooth, rough, alone) = (JobRecord.test("smooth"), JobRecord.test("rough"), JobRecord.test("alone"))
    _ = try await ledger.add(smooth, rough, alone)
    try await fail(rough, "one", in: ledger)
    try await fail(rough, "two", attempt: 2, in: ledger)
    try await fail(alone, "three", in: ledger)
    try await expect(Set(ledger.completeAlone([smooth.id, rough.id])), equals: [smooth.id, rough.id])
    try await ledger.complete([alone.id], queue: .default)
    try await expect(
      subject.finishedJobs(),
      equals: [
        rough.id: FinishedRecord(state: .done, attempts: 2, errors: ["one", "two"]),
        alone.id: FinishedRecord(state: .done, attempts: 1, errors: ["three"]),
      ])
    try await expect(ledger.allPendingIDs().isEmpty)
  }

  private static func aRollbackKeepsNoRecord(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let job = JobRecord.test()
    _ = try await ledger.add(job)
    try await fail(job, "one", in: ledger)
    try await expect(throwing: Rollback.self) { try await rollBack(job.id, in: ledger) }
    try await expect(subject.finishedJobs().isEmpty)
    try await expect(ledger.allPendingIDs(), equals: [job.id])
  }

  private static func rollBack<L: Ledger>(_ id: JobID, in ledger: L) async throws {
    try await ledger.withTransaction { transaction in
      _ = try await ledger.complete([id], queue: .default, in: transaction)
      throw Rollback()
    }
  }

  private static func cancelledJobsAreKept(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let (waiting, failed, elsewhere) = (
      JobRecord.test("waiting", uniqueKey: "k"), JobRecord.test("failed"), JobRecord.test(queue: "other")
    )
    _ = try await ledger.add(waiting, failed, elsewhere)
    try await fail(failed, "one", in: ledger)
    try await ledger.cancel([waiting.id, failed.id, elsewhere.id, .next()], queue: .default)
    try await expect(
      subject.finishedJobs(),
      equals: [
        waiting.id: FinishedRecord(state: .cancelled, attempts: 0, errors: []),
        failed.id: FinishedRecord(state: .cancelled, attempts: 1, errors: ["one"]),
      ])
    try await expect(ledger.pending([waiting.id, failed.id], queue: .default).isEmpty)
    try await expect(ledger.pending([elsewhere.id], queue: "other"), equals: [elsewhere.id])
    // Its key is free, and ending it again finds nothing.
    try await expect(ledger.add(JobRecord.test(uniqueKey: "k")).count, equals: 1)
    try await expect(ledger.completeAlone([failed.id]).isEmpty)
    try await expect(subject.finishedJobs()[failed.id]?.state, equals: .cancelled)
  }

  private static func discardedJobsAreKept(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let (job, gone, pushed) = (JobRecord.test(uniqueKey: "k"), JobRecord.test(), JobRecord.test(isDurable: false))
    _ = try await ledger.add(job)
    try await fail(job, "one", in: ledger)
    func discarded(_ record: JobRecord, _ attempts: Int) -> DeadJob {
      DeadJob(
        record: record, attempts: attempts,
        failure: JobFailure(attempt: attempts, at: .init(unixMilliseconds: 3), error: "unwanted", worker: "w"))
    }
    try await expect(
      ledger.discard([discarded(job, 2), discarded(gone, 1), discarded(pushed, 1)]).isEmpty)
    try await expect(
      subject.finishedJobs(),
      equals: [
        job.id: FinishedRecord(state: .discarded, attempts: 2, errors: ["one", "unwanted"]),
        pushed.id: FinishedRecord(state: .discarded, attempts: 1, errors: ["unwanted"]),
      ])
    try await expect(subject.deadLetters().isEmpty)
    try await expect(ledger.allPendingIDs().isEmpty)
    // Its key is free.
    try await expect(ledger.add(JobRecord.test(uniqueKey: "k")).count, equals: 1)
  }

  private static func aDeadLetterIsNoFinishedJob(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let job = JobRecord.test()
    _ = try await ledger.add(job)
    try await fail(job, "one", in: ledger)
    try await ledger.deadLetter([
      DeadJob(
        record: job, attempts: 2,
        failure: JobFailure(attempt: 2, at: .init(unixMilliseconds: 3), error: "two", worker: "w"))
    ])
    try await expect(subject.finishedJobs().isEmpty)
    try await expect(subject.deadLetters()[job.id]?.errors, equals: ["one", "two"])
  }
}
