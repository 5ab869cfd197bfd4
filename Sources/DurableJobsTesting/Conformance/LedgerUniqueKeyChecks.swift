import DurableJobs

/// A unique key is pending at most once in a queue.
enum LedgerUniqueKeyChecks {
  static let all: [LedgerCheck] = [
    LedgerCheck("a key is pending once in a queue") { try await aKeyIsPendingOnceInAQueue($0) },
    LedgerCheck("the first of several jobs with one key is added") { try await theFirstOfAKeyIsAdded($0) },
    LedgerCheck("a job may add its successor under its own key") { try await aJobMayAddItsSuccessor($0) },
    LedgerCheck("one of many transactions with the same key adds") { try await oneOfManyTransactionsAdds($0) },
    LedgerCheck("the key of a dead job is free") { try await theKeyOfADeadJobIsFree($0) },
    LedgerCheck("a running job's key delays no other transaction") { try await aRunningJobsKeyBlocksNobody($0) },
    LedgerCheck("a job that rolls back keeps its key") { try await aRollbackKeepsTheKey($0) },
    LedgerCheck("the wait for a key that another transaction adds ends") { try await theWaitForAKeyEnds($0) },
  ]

  private static func aKeyIsPendingOnceInAQueue(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let (first, second, elsewhere) = (
      JobRecord.test(uniqueKey: "k"), JobRecord.test(uniqueKey: "k"), JobRecord.test(queue: "other", uniqueKey: "k")
    )
    let others = [JobRecord.test(), JobRecord.test(), JobRecord.test(uniqueKey: "l")]
    try await expect(ledger.add(first, others[0]), equals: [first.id, others[0].id])
    try await expect(
      Set(ledger.add(second, others[1], elsewhere, others[2])), equals: [others[1].id, elsewhere.id, others[2].id])
    try await expect(ledger.pending([second.id], queue: .default).isEmpty)

    try await expect(ledger.completeAlone([first.id]), equals: [first.id])
    try await expect(ledger.add(second), equals: [second.id])
  }

  private static func theFirstOfAKeyIsAdded(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let jobs = (0..<3).map { _ in JobRecord.test(uniqueKey: "k") }
    try await expect(ledger.add(jobs[0], jobs[1], jobs[2]), equals: [jobs[0].id])
  }

  private static func aJobMayAddItsSuccessor(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let (job, next) = (JobRecord.test(uniqueKey: "k"), JobRecord.test(uniqueKey: "k"))
    _ = try await ledger.add(job)
    try await ledger.withTransaction { transaction async throws in
      _ = try await ledger.complete([job.id], queue: .default, in: transaction)
      try await expect(ledger.add([next], in: transaction), equals: [next.id])
    }
    try await expect(ledger.allPendingIDs(), equals: [next.id])
  }

  private static func oneOfManyTransactionsAdds(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
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
    try expect(added.count, equals: 1)
    try await expect(ledger.allPendingIDs(), equals: added)
  }

  private static func theKeyOfADeadJobIsFree(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let (dead, next) = (JobRecord.test(uniqueKey: "k"), JobRecord.test(uniqueKey: "k"))
    _ = try await ledger.add(dead)
    let failure = JobFailure(attempt: 1, at: .init(unixMilliseconds: 1), error: "no", worker: "w")
    try await ledger.deadLetter([DeadJob(record: dead, attempts: 1, failure: failure)])
    try await expect(ledger.add(next), equals: [next.id])
  }

  private static func aRunningJobsKeyBlocksNobody(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let (running, asked, next) = (
      JobRecord.test(uniqueKey: "k"), JobRecord.test(uniqueKey: "k"), JobRecord.test(uniqueKey: "k")
    )
    let free = JobRecord.test(uniqueKey: "l")
    _ = try await ledger.add(running)
    try await ledger.withTransaction { transaction async throws in
      try await expect(ledger.complete([running.id], queue: .default, in: transaction).ended, equals: [running.id])
      // While the job is still running: waiting for its end here would deadlock.
      try await expect(ledger.add(asked, free), equals: [free.id])
    }
    try await expect(ledger.add(next), equals: [next.id])
  }

  private static func aRollbackKeepsTheKey(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let running = JobRecord.test(uniqueKey: "k")
    _ = try await ledger.add(running)
    try await expect(throwing: Rollback.self) {
      try await ledger.withTransaction { transaction async throws in
        _ = try await ledger.complete([running.id], queue: .default, in: transaction)
        try await expect(ledger.add(.test(uniqueKey: "k")).isEmpty)
        throw Rollback()
      }
    }
    try await expect(ledger.add(.test(uniqueKey: "k")).isEmpty)
    try await expect(ledger.allPendingIDs(), equals: [running.id])
  }

  private static func theWaitForAKeyEnds(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let first = JobRecord.test(uniqueKey: "k")
    try await ledger.withTransaction { transaction async throws in
      try await expect(ledger.add([first], in: transaction), equals: [first.id])
      let error = try await expect(throwing: UniqueKeyHeld.self) { try await ledger.add(.test(uniqueKey: "k")) }
      try expect(error.keys, equals: ["k"])
    }
    try await expect(ledger.allPendingIDs(), equals: [first.id])
    try await expect(ledger.add(.test(uniqueKey: "k")).isEmpty)
  }
}
