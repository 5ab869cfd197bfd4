import Foundation
import DurableJobs
import DurableJobsTesting
import JobsTestSupport
import Locking
import TestSupport
import Testing

/// A worker whose ledger does not answer leaves its jobs to workers whose ledger does.
@Suite(.timeLimit(.minutes(5))) struct LedgerSilenceTests {
  /// A ledger that one worker can reach and another cannot.
  private struct CutOff: Ledger {
    typealias Transaction = InMemoryLedger.Transaction
    let base: InMemoryLedger
    let isCut = Locked(false)

    private func pass() async throws {
      while isCut.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
    }

    func ping(within limit: Duration) async throws {
      let end = ContinuousClock.now + limit
      while isCut.withLock({ $0 }) {
        if ContinuousClock.now > end { throw Failure("no answer within \(limit)") }
        try await Task.sleep(for: .milliseconds(5))
      }
    }
    func withTransaction<Result: Sendable>(
      _ body: @Sendable (Transaction) async throws -> Result
    ) async throws -> Result {
      try await pass()
      return try await base.withTransaction(body)
    }
    func add(_ jobs: [JobRecord], in transaction: Transaction) async throws -> [JobID] {
      try await pass()
      return try await base.add(jobs, in: transaction)
    }
    func complete(_ ids: [JobID], queue: QueueName, in transaction: Transaction) async throws -> Completion {
      try await pass()
      return base.complete(ids, queue: queue, in: transaction)
    }
    func complete(_ ids: [JobID], queue: QueueName) async throws -> [JobID] {
      try await pass()
      return try await base.complete(ids, queue: queue)
    }
    func cancel(_ ids: [JobID], queue: QueueName) async throws -> [JobID] {
      try await pass()
      return base.cancel(ids, queue: queue)
    }
    func recordFailures(_ failures: [FailedJob], queue: QueueName) async throws -> [JobID] {
      try await pass()
      return base.recordFailures(failures, queue: queue)
    }
    func discard(_ discarded: [DeadJob]) async throws -> [JobID] {
      try await pass()
      return base.discard(discarded)
    }
    func postpone(_ dates: [JobID: Date], queue: QueueName) async throws -> [JobID] {
      try await pass()
      return base.postpone(dates, queue: queue)
    }
    func deadLetter(_ dead: [DeadJob]) async throws -> [JobID] {
      try await pass()
      return base.deadLetter(dead)
    }
    func park(_ jobs: [JobRecord]) async throws -> [JobID] {
      try await pass()
      return base.park(jobs)
    }
    func unpark(queue: QueueName, kinds: [JobKind: Int]) async throws -> Int {
      try await pass()
      return base.unpark(queue: queue, kinds: kinds)
    }
    func pending(_ ids: [JobID], queue: QueueName) async throws -> [JobID] {
      try await pass()
      return base.pending(ids, queue: queue)
    }
    func pendingIDs(queue: QueueName, after: JobID?, before: JobID, limit: Int) async throws -> [JobID] {
      try await pass()
      return base.pendingIDs(queue: queue, after: after, before: before, limit: limit)
    }
    func newestPendingIDs(
      queue: QueueName, after: JobID, before: JobID, age: Duration, limit: Int
    ) async throws -> [JobID] {
      try await pass()
      return base.newestPendingIDs(queue: queue, after: after, before: before, age: age, limit: limit)
    }
    func refuse(_ refusals: [JobID: String], queue: QueueName) async throws {
      try await pass()
      base.refuse(refusals, queue: queue)
    }
    func records(_ ids: [JobID], queue: QueueName) async throws -> [JobRecord] {
      try await pass()
      return base.records(ids, queue: queue)
    }
    func payloads(_ ids: [JobID], queue: QueueName) async throws -> [JobID: [UInt8]] {
      try await pass()
      return base.payloads(ids, queue: queue)
    }
    func lead(_ role: String, _ body: @escaping @Sendable () async throws -> Void) async throws {
      try await pass()
      try await base.lead(role, body)
    }
  }

  private let stage = Stage()

  private func registry<L: Ledger>(_ name: String, _ ran: Journal<String>, _ begun: Gate) -> JobRegistry<L> {
    var registry = JobRegistry<L>()
    registry.register(Numbered.self) { job, context in
      begun.open()
      try await context.transaction { _ in }
      ran.note("\(name) \(job.number)")
    }
    return registry
  }

  @Test func theSilentOneClaimsNothingAndGivesBackWhatHasNotBegun() async throws {
    let cut = CutOff(base: stage.ledger)
    let (ran, begun) = (Journal<String>(), Gate())
    var configuration = Stage.configuration(concurrency: 1, claimsAhead: true)
    configuration.lease = .seconds(2)
    let silent = Worker(
      broker: stage.broker, ledger: cut, registry: registry("silent", ran, begun), configuration: configuration,
      logger: .quiet)
    try await RunningWorker.run(silent) { _ in
      cut.isCut.withLock { $0 = true }
      // One begins and hangs; the others wait behind it.
      try await stage.client.enqueue((0..<3).map { Numbered(number: $0) })
      try await begun.wait()
      var other = Stage.configuration(concurrency: 1)
      other.lease = .seconds(2)
      let healthy = Worker(
        broker: stage.broker, ledger: stage.ledger, registry: registry("healthy", ran, Gate()), configuration: other,
        logger: .quiet)
      try await RunningWorker.run(healthy) { _ in
        // The job that began too: its lease ends.
        try await eventually("the healthy one does all") { stage.ledger.pendingCount(in: .default) == 0 }
        #expect(Set(ran.entries) == ["healthy 0", "healthy 1", "healthy 2"])
      }
      // Alone again, and still cut off: it claims nothing.
      try await stage.client.enqueue(Numbered(number: 3))
      try await eventually("it is not claimed") { await stage.counts().ready == 1 }
      cut.isCut.withLock { $0 = false }
      try await stage.settled()
    }
    #expect(ran.entries.contains("silent 3"))
    #expect(stage.ledger.dead.isEmpty)
  }
}
