import DurableJobs
import JobsTestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct LedgerUniqueKeyTests {
  @Test(arguments: LedgerKind.allCases)
  func aKeyIsOwedOnceInAQueue(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let (first, second, elsewhere) = (
        JobRecord.test(uniqueKey: "k"), JobRecord.test(uniqueKey: "k"), JobRecord.test(queue: "other", uniqueKey: "k")
      )
      let others = [JobRecord.test(), JobRecord.test(), JobRecord.test(uniqueKey: "l")]
      #expect(try await ledger.add(first, others[0]) == [first.id, others[0].id])
      #expect(
        try await Set(ledger.add(second, others[1], elsewhere, others[2]))
          == [others[1].id, elsewhere.id, others[2].id])
      #expect(try await ledger.pending([second.id], queue: .default).isEmpty)

      #expect(try await ledger.completeAlone([first.id]) == [first.id])
      #expect(try await ledger.add(second) == [second.id])
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func ofTheSameKeyInOneStatementTheFirstIsAdded(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let jobs = (0..<3).map { _ in JobRecord.test(uniqueKey: "k") }
      #expect(try await ledger.add(jobs[0], jobs[1], jobs[2]) == [jobs[0].id])
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func aJobMayAskForItsSuccessorUnderItsOwnKey(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let (job, next) = (JobRecord.test(uniqueKey: "k"), JobRecord.test(uniqueKey: "k"))
      _ = try await ledger.add(job)
      try await ledger.withTransaction { transaction async throws in
        _ = try await ledger.complete([job.id], queue: .default, in: transaction)
        #expect(try await ledger.add([next], in: transaction) == [next.id])
      }
      #expect(try await ledger.allPendingIDs() == [next.id])
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func ofManyTransactionsWithOneKeyOneAdds(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let added = try await withThrowingTaskGroup(of: [JobID].self) { group in
        for _ in 0..<8 {
          group.addTask {
            try await ledger.withTransaction { transaction async throws in
              let added = try await ledger.add([.test(uniqueKey: "k")], in: transaction)
              for _ in 0..<20 { await Task.yield() }
              return added
            }
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      #expect(added.count == 1)
      #expect(try await ledger.allPendingIDs() == added)
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func theKeyOfADeadJobIsFree(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let (dead, next) = (JobRecord.test(uniqueKey: "k"), JobRecord.test(uniqueKey: "k"))
      _ = try await ledger.add(dead)
      let failure = JobFailure(attempt: 1, at: 1, error: "no", worker: "w")
      try await ledger.deadLetter([DeadJob(record: dead, attempts: 1, failure: failure)])
      #expect(try await ledger.add(next) == [next.id])
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func aRunningJobHoldsItsKeyAndNobodyUp(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let (running, asked, next) = (
        JobRecord.test(uniqueKey: "k"), JobRecord.test(uniqueKey: "k"), JobRecord.test(uniqueKey: "k")
      )
      let free = JobRecord.test(uniqueKey: "l")
      _ = try await ledger.add(running)
      try await ledger.withTransaction { transaction async throws in
        #expect(try await ledger.complete([running.id], queue: .default, in: transaction).ended == [running.id])
        // In the midst of the job: were this to wait for its end, it would wait for ever.
        #expect(try await ledger.add(asked, free) == [free.id])
      }
      #expect(try await ledger.add(next) == [next.id])
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func aJobThatRollsBackKeepsItsKey(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let running = JobRecord.test(uniqueKey: "k")
      _ = try await ledger.add(running)
      await #expect(throws: Rollback.self) {
        try await ledger.withTransaction { transaction async throws in
          _ = try await ledger.complete([running.id], queue: .default, in: transaction)
          #expect(try await ledger.add(.test(uniqueKey: "k")).isEmpty)
          throw Rollback()
        }
      }
      #expect(try await ledger.add(.test(uniqueKey: "k")).isEmpty)
      #expect(try await ledger.allPendingIDs() == [running.id])
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func aKeyThatAnotherTransactionIsAddingIsNotWaitedForForEver(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let first = JobRecord.test(uniqueKey: "k")
      try await ledger.withTransaction { transaction async throws in
        #expect(try await ledger.add([first], in: transaction) == [first.id])
        let error = await #expect(throws: UniqueKeyHeld.self) { try await ledger.add(.test(uniqueKey: "k")) }
        #expect(error?.keys == ["k"])
      }
      #expect(try await ledger.allPendingIDs() == [first.id])
      #expect(try await ledger.add(.test(uniqueKey: "k")).isEmpty)
    }
  }
}
