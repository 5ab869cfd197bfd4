import DurableJobs
import JobsTestSupport
import Testing

/// Of what ends a record is kept where it is worth a look.
@Suite(.timeLimit(.minutes(5))) struct LedgerEndedTests {
  private func fail(_ record: JobRecord, _ error: String, attempt: Int = 1, in ledger: any TestedLedger) async throws {
    let failure = JobFailure(attempt: attempt, at: 1, error: error, worker: "w")
    try await ledger.recordFailures([FailedJob(id: record.id, failure: failure, runAt: 2)], queue: record.queue)
  }

  @Test(arguments: LedgerKind.allCases)
  func whatIsDoneAfterAFailureIsKeptAndTheRestIsNot(_ kind: LedgerKind) async throws {
    try await kind.with { ledger in
      let (smooth, rough, alone) = (JobRecord.test("smooth"), JobRecord.test("rough"), JobRecord.test("alone"))
      _ = try await ledger.add(smooth, rough, alone)
      try await fail(rough, "one", in: ledger)
      try await fail(rough, "two", attempt: 2, in: ledger)
      try await fail(alone, "three", in: ledger)
      #expect(Set(try await ledger.completeAlone([smooth.id, rough.id])) == [smooth.id, rough.id])
      try await ledger.complete([alone.id], queue: .default)
      #expect(
        try await ledger.endedJobs() == [
          rough.id: EndedLetter(state: .done, attempts: 2, errors: ["one", "two"]),
          alone.id: EndedLetter(state: .done, attempts: 1, errors: ["three"]),
        ])
      #expect(try await ledger.allPendingIDs().isEmpty)
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func whatIsRolledBackIsNotKept(_ kind: LedgerKind) async throws {
    try await kind.with { ledger in
      let job = JobRecord.test()
      _ = try await ledger.add(job)
      try await fail(job, "one", in: ledger)
      await #expect(throws: Rollback.self) { try await rollBack(job.id, in: ledger) }
      #expect(try await ledger.endedJobs().isEmpty)
      #expect(try await ledger.allPendingIDs() == [job.id])
    }
  }

  private func rollBack<L: Ledger>(_ id: JobID, in ledger: L) async throws {
    try await ledger.withTransaction { transaction in
      _ = try await ledger.complete([id], queue: .default, in: transaction)
      throw Rollback()
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func cancelledJobsAreKeptAndOwedNoMore(_ kind: LedgerKind) async throws {
    try await kind.with { ledger in
      let (waiting, failed, elsewhere) = (
        JobRecord.test("waiting", uniqueKey: "k"), JobRecord.test("failed"), JobRecord.test(queue: "other")
      )
      _ = try await ledger.add(waiting, failed, elsewhere)
      try await fail(failed, "one", in: ledger)
      try await ledger.cancel([waiting.id, failed.id, elsewhere.id, .next()], queue: .default)
      #expect(
        try await ledger.endedJobs() == [
          waiting.id: EndedLetter(state: .cancelled, attempts: 0, errors: []),
          failed.id: EndedLetter(state: .cancelled, attempts: 1, errors: ["one"]),
        ])
      #expect(try await ledger.pending([waiting.id, failed.id], queue: .default).isEmpty)
      #expect(try await ledger.pending([elsewhere.id], queue: "other") == [elsewhere.id])
      // Its key is free, and ending it again finds nothing.
      #expect(try await ledger.add(JobRecord.test(uniqueKey: "k")).count == 1)
      #expect(try await ledger.completeAlone([failed.id]).isEmpty)
      #expect(try await ledger.endedJobs()[failed.id]?.state == .cancelled)
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func aDeadLetterIsNotAmongThem(_ kind: LedgerKind) async throws {
    try await kind.with { ledger in
      let job = JobRecord.test()
      _ = try await ledger.add(job)
      try await fail(job, "one", in: ledger)
      try await ledger.deadLetter([
        DeadJob(record: job, attempts: 2, failure: JobFailure(attempt: 2, at: 3, error: "two", worker: "w"))
      ])
      #expect(try await ledger.endedJobs().isEmpty)
      #expect(try await ledger.deadLetters()[job.id]?.errors == ["one", "two"])
    }
  }
}
