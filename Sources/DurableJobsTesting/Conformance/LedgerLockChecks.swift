import DurableJobs
import JobsTestSupport
import Testing

/// While a transaction that completes a job stays open, nothing that settles that job waits for it or takes it for
/// done.
@Suite(.timeLimit(.minutes(5))) struct LedgerLockTests {
  /// Runs `body` while a transaction holds `job`, which is rolled back after it.
  private func holding(
    _ job: JobRecord, of ledger: some TestedLedger, _ body: @Sendable () async throws -> Void
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

  private func failure(_ attempt: Int) -> JobFailure { JobFailure(attempt: attempt, at: 1, error: "no", worker: "w") }

  @Test(arguments: LedgerKind.allCases)
  func settlingPassesAHeldJobBy(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let (held, free) = (JobRecord.test("held"), (0..<5).map { JobRecord.test("\($0)") })
      try await ledger.withTransaction { _ = try await ledger.add([held] + free, in: $0) }
      try await holding(held, of: ledger) { () async throws in
        #expect(try await ledger.complete([held.id, free[0].id], queue: .default) == [held.id])
        #expect(try await ledger.cancel([held.id, free[1].id], queue: .default) == [held.id])
        #expect(
          try await ledger.recordFailures(
            [held, free[2]].map { FailedJob(id: $0.id, failure: failure(1), runAt: 5) }, queue: .default) == [held.id])
        #expect(
          try await ledger.deadLetter(
            [held, free[3]].map { DeadJob(record: $0, attempts: 1, failure: failure(1)) }) == [held.id])
        #expect(try await ledger.park([held, free[4]]) == [held.id])
      }
      #expect(try await Set(ledger.deadLetters().keys) == [free[3].id])
      #expect(try await ledger.endedJobs().mapValues(\.state) == [free[1].id: .cancelled])
      // As it was: no failure noted, not parked.
      let records = try await ledger.records([held.id] + free.map(\.id), queue: .default)
      #expect(Set(records.map(\.id)) == [held.id, free[2].id])
      #expect(records.first { $0.id == held.id } == held)
      #expect(records.first { $0.id == free[2].id }?.attempts == 1)
      #expect(try await ledger.completeAlone([held.id]) == [held.id])
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func whatIsGoneIsNotHeld(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let gone = JobRecord.test()
      #expect(try await ledger.complete([gone.id], queue: .default).isEmpty)
      #expect(try await ledger.cancel([gone.id], queue: .default).isEmpty)
      #expect(
        try await ledger.recordFailures([FailedJob(id: gone.id, failure: failure(1), runAt: 5)], queue: .default)
          .isEmpty)
      #expect(try await ledger.deadLetter([DeadJob(record: gone, attempts: 1, failure: failure(1))]).isEmpty)
      #expect(try await ledger.park([gone]).isEmpty)
      #expect(try await ledger.deadLetters().isEmpty)
    }
  }
}
