import DurableJobs

/// Parked jobs, and pages of pending ones.
enum LedgerParkChecks {
  static let all: [LedgerCheck] = [
    LedgerCheck("parked jobs wait for a worker that knows their kind") { try await parkedJobsWaitForTheirKind($0) },
    LedgerCheck("a job without a record is pending once it is parked") { try await aParkedFleetingJobIsPending($0) },
    LedgerCheck("a finished job is not parked") { try await aFinishedJobIsNotParked($0) },
    LedgerCheck("pending ids come in pages") { try await pendingIDsComeInPages($0) },
    LedgerCheck("the newest pending ids come first") { try await theNewestPendingIDsComeFirst($0) },
  ]

  private static func parkedJobsWaitForTheirKind(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let (newer, unknown, elsewhere, usual) = (
      JobRecord.test(kind: "a", version: 2), JobRecord.test(kind: "b"),
      JobRecord.test(kind: "a", queue: "other", version: 2), JobRecord.test(kind: "a")
    )
    _ = try await ledger.add(newer, unknown, elsewhere, usual)
    try await ledger.park([newer, unknown, elsewhere])
    try await expect(ledger.allPendingIDs(), equals: [usual.id])
    try await expect(ledger.records([newer.id, unknown.id, usual.id], queue: .default), equals: [usual])

    try await expect(ledger.unpark(queue: .default, kinds: ["a": 1]), equals: 0)
    try await expect(ledger.unpark(queue: .default, kinds: [:]), equals: 0)
    try await expect(ledger.unpark(queue: .default, kinds: ["a": 2, "c": 9]), equals: 1)
    try await expect(ledger.allPendingIDs(), equals: [newer.id, usual.id])
    try await expect(ledger.records([newer.id], queue: .default), equals: [newer])
    try await expect(ledger.unpark(queue: .default, kinds: ["a": 3, "b": 1]), equals: 1)
    try await expect(Set(ledger.allPendingIDs()), equals: [newer.id, unknown.id, usual.id])
    try await expect(ledger.unpark(queue: "other", kinds: ["a": 3]), equals: 1)
  }

  private static func aParkedFleetingJobIsPending(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let job = JobRecord.test("{\"a\": 1}", kind: "a", isDurable: false)
    try await ledger.park([job])
    try await expect(ledger.unpark(queue: .default, kinds: ["a": 1]), equals: 1)
    try await expect(ledger.allPendingIDs(), equals: [job.id])
    let record = try await ledger.records([job.id], queue: .default).first
    try expect(record?.isDurable, equals: true)
    try expect(record?.payload, equals: job.payload)
  }

  private static func aFinishedJobIsNotParked(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let job = JobRecord.test(kind: "a")
    _ = try await ledger.add(job)
    _ = try await ledger.completeAlone([job.id])
    try await ledger.park([job])
    try await expect(ledger.unpark(queue: .default, kinds: ["a": 1]), equals: 0)
    try await expect(ledger.allPendingIDs().isEmpty)
  }

  private static func pendingIDsComeInPages(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let jobs = (0..<25).map { JobRecord.test("\($0)", queue: $0 % 5 == 4 ? "other" : .default) }
    try await ledger.withTransaction { _ = try await ledger.add(jobs.shuffled(), in: $0) }
    let (last, mine) = (jobs[22].id, jobs.filter { $0.queue == .default }.map(\.id))
    var pages: [[JobID]] = []
    while pages.last?.count ?? 7 == 7 {
      pages.append(
        try await ledger.pendingIDs(queue: .default, after: pages.last?.last, before: last, limit: 7))
    }
    try expect(pages.map(\.count), equals: [7, 7, 4])
    try expect(pages.flatMap { $0 }, equals: mine.filter { $0 < last })
  }

  private static func theNewestPendingIDsComeFirst(_ subject: some LedgerUnderTest) async throws {
    let ledger = subject.ledger
    let jobs = (0..<25).map { JobRecord.test("\($0)", queue: $0 % 5 == 4 ? "other" : .default) }
    try await ledger.withTransaction { _ = try await ledger.add(jobs.shuffled(), in: $0) }
    let mine = jobs.filter { $0.queue == .default }.map(\.id)
    var pages: [[JobID]] = []
    while pages.last?.count ?? 7 == 7 {
      pages.append(
        try await ledger.newestPendingIDs(
          queue: .default, after: mine[1], before: pages.last?.last ?? JobID(high: .max, low: .max), age: .zero,
          limit: 7))
    }
    try expect(pages.map(\.count), equals: [7, 7, 4])
    try expect(pages.flatMap { $0 }, equals: mine.dropFirst(2).reversed())
    let young = try await ledger.newestPendingIDs(
      queue: .default, after: mine[1], before: JobID(high: .max, low: .max), age: .seconds(60), limit: 7)
    try expect(young.isEmpty, "none is pending for a minute")
  }
}
