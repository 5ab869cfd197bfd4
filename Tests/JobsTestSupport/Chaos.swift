import Foundation
import DurableJobs
import Locking
import TestSupport

/// Decides from a seed which calls fail.
public final class Chaos: Sendable {
  public struct Accident: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
  }

  private let generator: Locked<SeededGenerator>
  private let isCalm = Locked(false)

  public init(seed: UInt64) { generator = Locked(SeededGenerator(seed: seed)) }

  /// Ends the chaos: from now on no call fails.
  public func end() { isCalm.withLock { $0 = true } }

  public func happens(_ probability: Double) -> Bool {
    if isCalm.withLock({ $0 }) { return false }
    return generator.withLock { Double.random(in: 0..<1, using: &$0) < probability }
  }

  public func number(_ range: Range<Int>) -> Int { generator.withLock { Int.random(in: range, using: &$0) } }

  public func mayFail(_ what: String, _ probability: Double) throws {
    if happens(probability) { throw Accident(what) }
  }
}

/// A broker whose replies get lost and whose consumers freeze.
public struct ChaosBroker<Base: Broker>: Broker {
  let base: Base
  let chaos: Chaos

  public init(_ base: Base, chaos: Chaos) {
    self.base = base
    self.chaos = chaos
  }

  public var executor: (any TaskExecutor)? { base.executor }

  public func push(_ jobs: [JobRecord]) async throws {
    try chaos.mayFail("push is not sent", 0.05)
    try await base.push(jobs)
    try chaos.mayFail("push has no reply", 0.05)
  }

  public func repush(_ jobs: [JobRecord]) async throws {
    try chaos.mayFail("repush is not sent", 0.05)
    try await base.repush(jobs)
    try chaos.mayFail("repush has no reply", 0.05)
  }

  public func hold(of queue: QueueName) async throws -> Date? { try await base.hold(of: queue) }
  public func endHold(of queue: QueueName) async throws { try await base.endHold(of: queue) }

  public func join(_ queue: QueueName, worker: String, lease: Duration) async throws -> ChaosConsumer<Base.Consumer> {
    try chaos.mayFail("join", 0.2)
    return ChaosConsumer(
      base: try await base.join(queue, worker: worker, lease: lease), lease: lease, chaos: chaos)
  }

  public func missing(_ ids: [JobID], in queue: QueueName) async throws -> [JobID] {
    try chaos.mayFail("unknown", 0.05)
    return try await base.missing(ids, in: queue)
  }

  public func depth(of queue: QueueName) async throws -> QueueDepth { try await base.depth(of: queue) }

  public func remove(_ ids: [JobID], from queue: QueueName) async throws -> [JobID] {
    try await base.remove(ids, from: queue)
  }

  public func reschedule(_ ids: [JobID], in queue: QueueName, to due: Date) async throws -> [JobID] {
    try await base.reschedule(ids, in: queue, to: due)
  }

  public func clear(_ queue: QueueName) async throws -> Int { try await base.clear(queue) }

  public func rememberPause(_ isPaused: Bool, of queue: QueueName) async throws {
    try await base.rememberPause(isPaused, of: queue)
  }

  public func remembersPause(of queue: QueueName) async throws -> Bool { try await base.remembersPause(of: queue) }
}

public struct ChaosConsumer<Base: BrokerConsumer>: BrokerConsumer {
  let base: Base
  let lease: Duration
  let chaos: Chaos

  public var epoch: String { get async { await base.epoch } }

  public func claim(_ count: Int, wait: Duration) async throws -> [Claim] {
    try chaos.mayFail("claim is not sent", 0.02)
    return try await base.claim(count, wait: wait)
  }

  public func stopClaiming() async { await base.stopClaiming() }

  public func wakeClaim() async { await base.wakeClaim() }

  public func acknowledge(_ claims: [Claim]) async throws {
    try chaos.mayFail("acknowledge is not sent", 0.05)
    try await base.acknowledge(claims)
    try chaos.mayFail("acknowledge has no reply", 0.05)
  }

  public func retry(_ retries: [ClaimRetry]) async throws {
    try chaos.mayFail("retry is not sent", 0.05)
    try await base.retry(retries)
    try chaos.mayFail("retry has no reply", 0.05)
  }

  public func release(_ claims: [Claim]) async throws {
    try chaos.mayFail("release is not sent", 0.05)
    try await base.release(claims)
  }

  public func begin(_ claims: [Claim]) async throws -> Set<String> {
    try chaos.mayFail("begin is not sent", 0.05)
    let own = try await base.begin(claims)
    try chaos.mayFail("begin has no reply", 0.05)
    return own
  }

  public func releaseUnreceived(_ receipts: [String]) async throws { try await base.releaseUnreceived(receipts) }

  public func heartbeat(listingHeld lists: Bool) async throws -> Heartbeat {
    // A frozen worker: others declare it dead, while its handlers continue.
    if chaos.happens(0.03) { try await Task.sleep(for: lease * 2) }
    try chaos.mayFail("heartbeat", 0.05)
    return try await base.heartbeat(listingHeld: lists)
  }

  public func leave() async throws {
    try chaos.mayFail("leave", 0.2)
    try await base.leave()
  }
}

/// A ledger whose commits sometimes have an unknown outcome.
public struct ChaosLedger<Base: Ledger>: Ledger {
  public typealias Transaction = Base.Transaction
  let base: Base
  let chaos: Chaos

  public init(_ base: Base, chaos: Chaos) {
    self.base = base
    self.chaos = chaos
  }

  public func withTransaction<Result: Sendable>(
    _ body: @Sendable (Transaction) async throws -> Result
  ) async throws -> Result {
    try chaos.mayFail("no connection for a transaction", 0.03)
    let result = try await base.withTransaction { transaction in
      let result = try await body(transaction)
      try chaos.mayFail("rolled back at the end", 0.03)
      return result
    }
    try chaos.mayFail("the commit has no reply", 0.03)
    return result
  }

  public func add(_ jobs: [JobRecord], in transaction: Transaction) async throws -> [JobID] {
    try await base.add(jobs, in: transaction)
  }

  public func complete(_ ids: [JobID], queue: QueueName, in transaction: Transaction) async throws -> Completion {
    try await base.complete(ids, queue: queue, in: transaction)
  }

  public func complete(_ ids: [JobID], queue: QueueName) async throws -> [JobID] {
    try chaos.mayFail("complete is not sent", 0.05)
    let held = try await base.complete(ids, queue: queue)
    try chaos.mayFail("complete has no reply", 0.05)
    return held
  }

  public func cancel(_ ids: [JobID], queue: QueueName) async throws -> [JobID] {
    try await base.cancel(ids, queue: queue)
  }

  public func recordFailures(_ failures: [FailedJob], queue: QueueName) async throws -> [JobID] {
    try chaos.mayFail("failures are not sent", 0.05)
    return try await base.recordFailures(failures, queue: queue)
  }

  public func discard(_ discarded: [DeadJob]) async throws -> [JobID] {
    try chaos.mayFail("discarded jobs are not sent", 0.05)
    return try await base.discard(discarded)
  }

  public func listen(
    to queues: Set<QueueName>, _ body: @escaping @Sendable (Set<QueueName>) async throws -> Void
  ) async throws {
    try await base.listen(to: queues, body)
  }

  public func takeUnpushed(queue: QueueName, limit: Int) async throws -> [JobID] {
    try await base.takeUnpushed(queue: queue, limit: limit)
  }

  public func postpone(_ dates: [JobID: Date], queue: QueueName) async throws -> [JobID] {
    try chaos.mayFail("dates are not sent", 0.05)
    return try await base.postpone(dates, queue: queue)
  }

  public func deadLetter(_ dead: [DeadJob]) async throws -> [JobID] { try await base.deadLetter(dead) }
  public func park(_ jobs: [JobRecord]) async throws -> [JobID] { try await base.park(jobs) }
  public func unpark(queue: QueueName, kinds: [JobKind: Int]) async throws -> Int {
    try await base.unpark(queue: queue, kinds: kinds)
  }

  public func pending(_ ids: [JobID], queue: QueueName) async throws -> [JobID] {
    try chaos.mayFail("pending", 0.05)
    return try await base.pending(ids, queue: queue)
  }

  public func pendingIDs(queue: QueueName, after: JobID?, before: JobID, limit: Int) async throws -> [JobID] {
    try chaos.mayFail("pendingIDs", 0.05)
    return try await base.pendingIDs(queue: queue, after: after, before: before, limit: limit)
  }

  public func newestPendingIDs(
    queue: QueueName, after: JobID, before: JobID, age: Duration, limit: Int
  ) async throws -> [JobID] {
    try chaos.mayFail("newestPendingIDs", 0.05)
    return try await base.newestPendingIDs(queue: queue, after: after, before: before, age: age, limit: limit)
  }

  public func refuse(_ refusals: [JobID: String], queue: QueueName) async throws {
    try await base.refuse(refusals, queue: queue)
  }

  public func records(_ ids: [JobID], queue: QueueName) async throws -> [JobRecord] {
    try await base.records(ids, queue: queue)
  }

  public func payloads(_ ids: [JobID], queue: QueueName) async throws -> [JobID: [UInt8]] {
    try chaos.mayFail("payloads", 0.05)
    return try await base.payloads(ids, queue: queue)
  }

  public func lead(_ role: String, _ body: @escaping @Sendable () async throws -> Void) async throws {
    try await base.lead(role, body)
  }

  public func ping(within limit: Duration) async throws {
    try chaos.mayFail("ping", 0.05)
    try await base.ping(within: limit)
  }
}
