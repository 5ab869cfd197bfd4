import Foundation
import DurableJobsTesting
import JobsTestSupport
import Locking
import TestSupport
import Testing

@testable import DurableJobs

/// Payloads that stay in the ledger, through all stages of a job.
@Suite(.timeLimit(.minutes(5))) struct LargePayloadTests {
  private struct Large: Job {
    static let kind: JobKind = "test.large"
    static let retry = RetryPolicy(maxAttempts: 3, base: .milliseconds(1), cap: .milliseconds(2))
    var number: Int
    var text: String

    init(_ number: Int, bytes: Int = 100_000) {
      self.number = number
      text = String(repeating: "x", count: bytes)
    }
  }

  /// A ledger that records reads of payloads, and fails them on demand.
  private struct WatchedLedger: Ledger {
    typealias Transaction = InMemoryLedger.Transaction
    let base: InMemoryLedger
    let reads = Journal<[JobID]>()
    let fails = Locked(false)
    let gate = Gate()

    func withTransaction<Result: Sendable>(
      _ body: @Sendable (Transaction) async throws -> Result
    ) async throws -> Result { try await base.withTransaction(body) }
    func add(_ jobs: [JobRecord], in transaction: Transaction) async throws -> [JobID] {
      try await base.add(jobs, in: transaction)
    }
    func complete(_ ids: [JobID], queue: QueueName, in transaction: Transaction) async throws -> Completion {
      base.complete(ids, queue: queue, in: transaction)
    }
    func complete(_ ids: [JobID], queue: QueueName) async throws -> [JobID] {
      try await base.complete(ids, queue: queue)
    }
    func cancel(_ ids: [JobID], queue: QueueName) -> [JobID] { base.cancel(ids, queue: queue) }
    func recordFailures(_ failures: [FailedJob], queue: QueueName) -> [JobID] {
      base.recordFailures(failures, queue: queue)
    }
    func discard(_ discarded: [DeadJob]) -> [JobID] { base.discard(discarded) }
    func postpone(_ dates: [JobID: Date], queue: QueueName) -> [JobID] { base.postpone(dates, queue: queue) }
    func deadLetter(_ dead: [DeadJob]) -> [JobID] { base.deadLetter(dead) }
    func park(_ jobs: [JobRecord]) -> [JobID] { base.park(jobs) }
    func ping(within limit: Duration) {}
    func unpark(queue: QueueName, kinds: [JobKind: Int]) -> Int { base.unpark(queue: queue, kinds: kinds) }
    func pending(_ ids: [JobID], queue: QueueName) -> [JobID] { base.pending(ids, queue: queue) }
    func pendingIDs(queue: QueueName, after: JobID?, before: JobID, limit: Int) -> [JobID] {
      base.pendingIDs(queue: queue, after: after, before: before, limit: limit)
    }
    func newestPendingIDs(queue: QueueName, after: JobID, before: JobID, age: Duration, limit: Int) -> [JobID] {
      base.newestPendingIDs(queue: queue, after: after, before: before, age: age, limit: limit)
    }
    func refuse(_ refusals: [JobID: String], queue: QueueName) { base.refuse(refusals, queue: queue) }
    func records(_ ids: [JobID], queue: QueueName) -> [JobRecord] { base.records(ids, queue: queue) }
    func payloads(_ ids: [JobID], queue: QueueName) async throws -> [JobID: [UInt8]] {
      reads.note(ids)
      if fails.withLock({ $0 }) { throw Failure("the ledger is away") }
      try await gate.wait()
      return base.payloads(ids, queue: queue)
    }
    func lead(_ role: String, _ body: @escaping @Sendable () async throws -> Void) async throws {
      try await base.lead(role, body)
    }
  }

  private let stage = Stage()

  private func work<L: Ledger>(
    on ledger: L, _ registry: JobRegistry<L>, _ body: @Sendable () async throws -> Void
  ) async throws {
    let worker = Worker(
      broker: stage.broker, ledger: ledger, registry: registry, configuration: Stage.configuration(), logger: .quiet)
    try await RunningWorker.run(worker) { _ in try await body() }
  }

  @Test func theBrokerCarriesItsIDAlone() async throws {
    _ = try await stage.client.enqueue([Large(1), Large(2, bytes: 10)])
    let consumer = await stage.broker.join(.default, worker: "w", lease: .seconds(120))
    let claims = await consumer.claim(10, wait: .seconds(60))
    #expect(claims.map(\.record.payload.count) == [0, 32])
    #expect(claims.map(\.record.payloadSize) == [100_022, 32])
    await consumer.leave()
    let ran = Journal<Int>()
    var registry = Stage.Registry()
    registry.register(Large.self) { job, _ in ran.note(job.text.utf8.count) }
    try await stage.work(registry) { _ in try await stage.settled() }
    #expect(ran.entries.sorted() == [10, 100_000])
  }

  @Test func itComesWithEveryAttemptAndIsWholeInTheDeadLetter() async throws {
    let ran = Journal<Int>()
    var registry = Stage.Registry()
    registry.register(Large.self) { job, context in
      ran.note(job.text.utf8.count)
      if job.number == 2 || context.attempt < 3 { throw Failure("not yet") }
    }
    _ = try await stage.client.enqueue([Large(1), Large(2)])
    try await stage.work(registry) { _ in try await stage.settled() }
    #expect(ran.entries == Array(repeating: 100_000, count: 6))
    let dead = try #require(stage.ledger.dead.first)
    #expect(stage.ledger.dead.count == 1)
    #expect(try Large(payload: dead.record.payload, version: 1).text.utf8.count == 100_000)
  }

  /// A worker of an older version, without such records, parks them.
  @Test func aParkedOneRunsWithItsPayload() async throws {
    let id = try #require(try await stage.client.enqueue(Large(1)))
    let consumer = await stage.broker.join(.default, worker: "older", lease: .seconds(120))
    let claims = await consumer.claim(1, wait: .seconds(60))
    #expect(stage.ledger.park(claims.map(\.record)).isEmpty)
    await consumer.acknowledge(claims)
    await consumer.leave()
    #expect(stage.ledger.parkedCount == 1)
    #expect(stage.ledger.payloads([id], queue: .default)[id]?.count == 100_022)
    let ran = Journal<Int>()
    var registry = Stage.Registry()
    registry.register(Large.self) { job, _ in ran.note(job.text.utf8.count) }
    try await stage.work(registry) { _ in try await stage.settled() }
    #expect(ran.entries == [100_000])
  }

  @Test func aBatchIsBoundedByItsBytes() async throws {
    let batches = Journal<[Int]>()
    var registry = Stage.Registry()
    registry.registerBatch(Large.self, upTo: 100) { jobs, _ in batches.note(jobs.map(\.job.text.utf8.count)) }
    let jobs = (0..<40).map { Large($0, bytes: $0 < 11 ? 1_000_000 : 10) }
    _ = try await stage.client.enqueue(jobs)
    try await stage.work(registry) { _ in try await stage.settled() }
    let ran = batches.entries
    #expect(ran.flatMap { $0 }.count == 40)
    #expect(ran.allSatisfy { $0.reduce(0, +) <= PayloadLimit.batch }, "\(ran.map(\.count))")
  }

  @Test func smallOnesRunTogetherBehindLargeOnes() async throws {
    var state = QueueState(concurrency: 1, batchLimits: [Large.kind: 100])
    _ = state.claimed(
      try (0..<40).map { number in
        let record = try JobRecord(Large(number, bytes: number < 11 ? 1_000_000 : 10), isDurable: true).carried
        return Claim(record: record, attempt: 1, receipt: "\(number)", incarnation: 0)
      })
    var counts: [Int] = []
    while counts.reduce(0, +) < 40 { counts.append(max(1, state.runNext().count)) }
    #expect(counts == [4, 4, 32])
  }

  @Test func noMoreIsClaimedWhileABatchOfBytesWaits() async throws {
    var state = QueueState(concurrency: 100)
    // Claimed by a version without limits, for example.
    _ = state.claimed(
      (0..<5).map { number in
        let record = JobRecord.test(String(repeating: "x", count: 1 << 20), isDurable: false)
        return Claim(record: record, attempt: 1, receipt: "\(number)", incarnation: 0)
      })
    #expect(state.claimTurn() == .wait)
    for left in (0..<5).reversed() {
      // At least a batch is still waiting there.
      if left >= 3 { #expect(state.roomNow == 0) }
      #expect(state.turn(of: left, at: .start).item?.count == 1)
      let actions = state.ended(left, .one(.complete), at: .after(.seconds(1)))
      #expect(actions.wakesClaimer == (left == 3))
    }
    #expect(state.roomNow > 0)
  }

  @Test func aJobWhoseRowIsGoneIsEnded() async throws {
    let ran = Journal<Int>()
    var registry = Stage.Registry()
    registry.register(Large.self) { job, _ in ran.note(job.number) }
    // Known only to the broker, as after a completion whose acknowledgement was lost.
    let gone = try JobRecord(Large(1), isDurable: true)
    await stage.broker.push([gone])
    _ = try await stage.client.enqueue(Large(2))
    try await stage.work(registry) { _ in try await stage.settled() }
    #expect(ran.entries == [2])
    #expect(stage.ledger.dead.isEmpty)
  }

  @Test func aLedgerThatCannotBeAskedIsNoFailureOfTheJob() async throws {
    let ledger = WatchedLedger(base: stage.ledger)
    ledger.gate.open()
    ledger.fails.withLock { $0 = true }
    let ran = Journal<Int>()
    var registry = JobRegistry<WatchedLedger>()
    registry.register(Large.self) { _, context in ran.note(context.attempt) }
    _ = try await stage.client.enqueue(Large(1))
    try await work(on: ledger, registry) {
      try await eventually("it is handed back") { await stage.counts().delayed == 1 }
      ledger.fails.withLock { $0 = false }
      try await stage.settled()
    }
    #expect(ran.entries == [1])
  }

  @Test func whatIsAskedForTogetherIsReadTogether() async throws {
    let ledger = WatchedLedger(base: stage.ledger)
    let reads = PayloadReads(ledger: ledger, queue: .default)
    let records = try (0..<10).map { try JobRecord(Large($0, bytes: 1_000_000), isDurable: true) }
    try await stage.ledger.withTransaction { _ = try await stage.ledger.add(records, in: $0) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await reads.run() }
      func read(_ record: JobRecord) {
        group.addTask {
          let payload = try await reads.read([record])[record.id]
          #expect(payload == record.payload)
        }
      }
      read(records[0])
      try await eventually("the first read is under way") { ledger.reads.entries.count == 1 }
      for record in records.dropFirst() { read(record) }
      try await eventually("the others wait") { reads.waitingCount == 9 }
      ledger.gate.open()
      for _ in records { try await group.next() }
      reads.close()
    }
    #expect(ledger.reads.entries.map(\.count) == [1, 4, 4, 1])
  }

  @Test func aReadThatIsNotWaitedForEndsAtOnce() async throws {
    let reads = PayloadReads(ledger: WatchedLedger(base: stage.ledger), queue: .default)
    let record = try JobRecord(Large(1), isDurable: true)
    await #expect(throws: CancellationError.self) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { _ = try await reads.read([record]) }
        try await eventually("it waits") { reads.waitingCount == 1 }
        group.cancelAll()
        try await group.next()
      }
    }
    #expect(reads.waitingCount == 0)
  }
}
