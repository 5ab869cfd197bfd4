import DurableJobs

/// Failed attempts and dead letters.
enum LedgerFailureChecks {
  static let all: [LedgerCheck] = [
    LedgerCheck("failures are recorded with the next due time") { try await failuresAreRecorded($0) },
    LedgerCheck("a job that is put off has not failed") { try await aJobThatIsPutOffHasNotFailed($0) },
    LedgerCheck("a dead letter has all its errors") { try await aDeadLetterHasAllErrors($0) },
    LedgerCheck("a job being completed becomes no dead letter") { try await aJobBeingCompletedIsNoDeadLetter($0) },
    LedgerCheck("any error text can be kept") { try await anyErrorTextCanBeKept($0) },
  ]

  private static func failure(_ attempt: Int, _ error: String) -> JobFailure {
    JobFailure(
      attempt: attempt, at: .init(unixMilliseconds: 1_700_000_000_000 + Int64(attempt)), error: error, worker: "w")
  }

  private static func failuresAreRecorded(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let (job, gone) = (JobRecord.test(), JobRecord.test())
    var traced = JobRecord.test()
    traced.trace = .begin()
    let other = traced
    _ = try await ledger.add(job, other)
    try await ledger.recordFailures(
      [
        FailedJob(id: job.id, failure: failure(1, "first"), runAt: .init(unixMilliseconds: 1_800_000_000_001)),
        FailedJob(id: gone.id, failure: failure(1, "none of the ledger's"), runAt: .init(unixMilliseconds: 1)),
      ], queue: .default)
    try await ledger.recordFailures(
      [FailedJob(id: job.id, failure: failure(2, "second"), runAt: .init(unixMilliseconds: 1_800_000_000_002))],
      queue: .default)
    let record = try await ledger.records([job.id], queue: .default).first
    try expect(record?.attempts, equals: 2)
    try expect(record?.runAt, equals: .init(unixMilliseconds: 1_800_000_000_002))
    try await expect(ledger.records([other.id], queue: .default), equals: [other])
    try await expect(ledger.allPendingIDs(), equals: [job.id, other.id])
  }

  private static func aJobThatIsPutOffHasNotFailed(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let (job, other, gone) = (JobRecord.test(), JobRecord.test(), JobRecord.test())
    _ = try await ledger.add(job, other)
    try await ledger.recordFailures(
      [FailedJob(id: job.id, failure: failure(1, "first"), runAt: .init(unixMilliseconds: 1_800_000_000_001))],
      queue: .default)
    try await ledger.postpone(
      [job.id: .init(unixMilliseconds: 1_800_000_000_002), gone.id: .init(unixMilliseconds: 1)], queue: .default)
    try await ledger.postpone([other.id: .init(unixMilliseconds: 1)], queue: "another")
    let record = try await ledger.records([job.id], queue: .default).first
    try expect(record?.attempts, equals: 1)
    try expect(record?.runAt, equals: .init(unixMilliseconds: 1_800_000_000_002))
    try await expect(ledger.records([other.id], queue: .default), equals: [other])
    try await expect(ledger.allPendingIDs(), equals: [job.id, other.id])
  }

  private static func aDeadLetterHasAllErrors(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let durable = JobRecord.test(kind: "durable")
    var fleeting = JobRecord.test(kind: "fleeting", isDurable: false)
    fleeting.failures = [failure(1, "one")]
    let done = JobRecord.test()
    _ = try await ledger.add(durable)
    try await ledger.recordFailures(
      [FailedJob(id: durable.id, failure: failure(1, "first"), runAt: .init(unixMilliseconds: 1))], queue: .default)
    let dead = [
      DeadJob(record: durable, attempts: 2, failure: failure(2, "last")),
      DeadJob(record: fleeting, attempts: 2, failure: failure(2, "two")),
      DeadJob(record: done, attempts: 1, failure: failure(1, "of a job that is done")),
    ]
    try await ledger.deadLetter(dead)
    // Repeated, as after a lost reply.
    try await ledger.deadLetter(dead)
    try await expect(
      subject.deadLetters(),
      equals: [
        durable.id: DeadRecord(kind: "durable", attempts: 2, errors: ["first", "last"]),
        fleeting.id: DeadRecord(kind: "fleeting", attempts: 2, errors: ["one", "two"]),
      ])
    try await expect(ledger.allPendingIDs().isEmpty)
    try await expect(ledger.completeAlone([durable.id]).isEmpty)
  }

  private static func aJobBeingCompletedIsNoDeadLetter(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let job = JobRecord.test()
    _ = try await ledger.add(job)
    let (isCompleted, mayEnd) = (Gate(), Gate())
    async let completing: Void = ledger.withTransaction { transaction async throws in
      try await expect(ledger.complete([job.id], queue: .default, in: transaction).ended, equals: [job.id])
      isCompleted.open()
      try await mayEnd.wait()
    }
    try await isCompleted.wait()
    async let deadLettering: Void = {
      mayEnd.open()
      try await ledger.deadLetter([DeadJob(record: job, attempts: 20, failure: failure(20, "late"))])
    }()
    _ = try await (completing, deadLettering)
    try await expect(subject.deadLetters().isEmpty)
    try await expect(ledger.allPendingIDs().isEmpty)
  }

  /// Errors contain arbitrary text from servers and libraries.
  private static func anyErrorTextCanBeKept(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let job = JobRecord.test()
    _ = try await ledger.add(job)
    let text = "\\u0000 zero \u{0} quote \" backslash \\ line\nbreak " + String(repeating: "ß", count: 3000)
    try await ledger.recordFailures(
      [FailedJob(id: job.id, failure: failure(1, text), runAt: .init(unixMilliseconds: 1))], queue: .default)
    try await ledger.deadLetter([DeadJob(record: job, attempts: 2, failure: failure(2, text))])
    let errors = try await subject.deadLetters()[job.id]?.errors ?? []
    try expect(errors.count, equals: 2)
    try expect(
      errors.allSatisfy { $0.hasPrefix("\\u0000 zero ") && $0.contains("quote \" backslash \\ line\nbreak ßß") })
  }
}
