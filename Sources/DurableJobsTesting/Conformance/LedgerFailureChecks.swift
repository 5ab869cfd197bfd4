import DurableJobs
import JobsTestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct LedgerFailureTests {
  private func failure(_ attempt: Int, _ error: String) -> JobFailure {
    JobFailure(attempt: attempt, at: 1_700_000_000_000 + Int64(attempt), error: error, worker: "w")
  }

  @Test(arguments: LedgerKind.allCases)
  func failuresAreNotedWithTheNextTime(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let (job, gone) = (JobRecord.test(), JobRecord.test())
      var traced = JobRecord.test()
      traced.trace = .random()
      let other = traced
      _ = try await ledger.add(job, other)
      try await ledger.recordFailures(
        [
          FailedJob(id: job.id, failure: failure(1, "first"), runAt: 1_800_000_000_001),
          FailedJob(id: gone.id, failure: failure(1, "none of the ledger's"), runAt: 1),
        ], queue: .default)
      try await ledger.recordFailures(
        [FailedJob(id: job.id, failure: failure(2, "second"), runAt: 1_800_000_000_002)], queue: .default)
      let record = try await ledger.records([job.id], queue: .default).first
      #expect(record?.attempts == 2)
      #expect(record?.runAt == 1_800_000_000_002)
      #expect(try await ledger.records([other.id], queue: .default) == [other])
      #expect(try await ledger.allPendingIDs() == [job.id, other.id])
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func aDeadJobHasAllItsErrors(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let durable = JobRecord.test(kind: "durable")
      var fleeting = JobRecord.test(kind: "fleeting", isDurable: false)
      fleeting.failures = [failure(1, "one")]
      let done = JobRecord.test()
      _ = try await ledger.add(durable)
      try await ledger.recordFailures(
        [FailedJob(id: durable.id, failure: failure(1, "first"), runAt: 1)], queue: .default)
      let dead = [
        DeadJob(record: durable, attempts: 2, failure: failure(2, "last")),
        DeadJob(record: fleeting, attempts: 2, failure: failure(2, "two")),
        DeadJob(record: done, attempts: 1, failure: failure(1, "of a job that is done")),
      ]
      try await ledger.deadLetter(dead)
      // Once more, as after a reply that was lost.
      try await ledger.deadLetter(dead)
      #expect(
        try await ledger.deadLetters() == [
          durable.id: DeadLetter(kind: "durable", attempts: 2, errors: ["first", "last"]),
          fleeting.id: DeadLetter(kind: "fleeting", attempts: 2, errors: ["one", "two"]),
        ])
      #expect(try await ledger.allPendingIDs().isEmpty)
      #expect(try await ledger.completeAlone([durable.id]).isEmpty)
    }
  }

  @Test(arguments: LedgerKind.allCases)
  func aJobThatIsBeingDoneIsNotBuried(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let job = JobRecord.test()
      _ = try await ledger.add(job)
      let (isCompleted, mayEnd) = (Gate(), Gate())
      async let completing: Void = ledger.withTransaction { transaction async throws in
        #expect(try await ledger.complete([job.id], queue: .default, in: transaction).ended == [job.id])
        isCompleted.open()
        try await mayEnd.wait()
      }
      try await isCompleted.wait()
      async let burying: Void = {
        mayEnd.open()
        try await ledger.deadLetter([DeadJob(record: job, attempts: 20, failure: failure(20, "late"))])
      }()
      _ = try await (completing, burying)
      #expect(try await ledger.deadLetters().isEmpty)
      #expect(try await ledger.allPendingIDs().isEmpty)
    }
  }

  /// Errors carry whatever a server or a library said.
  @Test(arguments: LedgerKind.allCases)
  func anyErrorTextCanBeKept(_ kind: LedgerKind) async throws {
    try await kind.with { try await check($0) }

    @Sendable func check(_ ledger: some TestedLedger) async throws {
      let job = JobRecord.test()
      _ = try await ledger.add(job)
      let text = "\\u0000 zero \u{0} quote \" backslash \\ line\nbreak " + String(repeating: "ß", count: 3000)
      try await ledger.recordFailures([FailedJob(id: job.id, failure: failure(1, text), runAt: 1)], queue: .default)
      try await ledger.deadLetter([DeadJob(record: job, attempts: 2, failure: failure(2, text))])
      let errors = try await ledger.deadLetters()[job.id]?.errors ?? []
      #expect(errors.count == 2)
      #expect(
        errors.allSatisfy { $0.hasPrefix("\\u0000 zero ") && $0.contains("quote \" backslash \\ line\nbreak ßß") })
    }
  }
}
