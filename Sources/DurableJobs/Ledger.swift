#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Records every pending durable job, from the transaction that enqueued it until the transaction that ended it.
///
/// Every implementation passes the conformance suite in `DurableJobsTesting`.
public protocol Ledger: Sendable {
  /// The transaction shared by the ledger's own writes and the app's, so that both commit or neither does.
  associatedtype Transaction: Sendable

  /// Commits the writes of `body` when it returns; rolls them back when it throws.
  func withTransaction<Result: Sendable>(
    _ body: @Sendable (Transaction) async throws -> Result
  ) async throws -> Result

  /// Adds jobs. Leaves out those whose unique key is pending, without waiting: a running job keeps its key until the
  /// transaction that ends it has committed, and within that transaction the key is free.
  ///
  /// - Returns: the ids of the added jobs.
  /// - Throws: `UniqueKeyHeld` if another transaction is adding a job with one of the keys and does not end.
  @discardableResult
  func add(_ jobs: [JobRecord], in transaction: Transaction) async throws -> [JobID]

  /// Ends jobs in a transaction; the first transaction to do so wins. Keeps a record of those that had failed before.
  ///
  /// It never waits for another transaction, since that may belong to a worker that will never finish it. A job held by
  /// another transaction is reported as held, and stays pending.
  func complete(_ ids: [JobID], queue: QueueName, in transaction: Transaction) async throws -> Completion

  /// Ends jobs whose handlers wrote nothing through the ledger's transaction.
  ///
  /// - Returns: those that another transaction holds, which are still pending; likewise for the methods below.
  @discardableResult
  func complete(_ ids: [JobID], queue: QueueName) async throws -> [JobID]

  /// Ends jobs that are no longer wanted, and keeps a record of those that were pending.
  @discardableResult
  func cancel(_ ids: [JobID], queue: QueueName) async throws -> [JobID]

  /// Records failed attempts of durable jobs and when each is due again.
  @discardableResult
  func recordFailures(_ failures: [FailedJob], queue: QueueName) async throws -> [JobID]

  /// Records when snoozed jobs are due again; no attempt is counted.
  @discardableResult
  func postpone(_ dates: [JobID: Date], queue: QueueName) async throws -> [JobID]

  /// Makes jobs dead letters, with all their errors: broker-only jobs, and durable ones that are still pending.
  @discardableResult
  func deadLetter(_ dead: [DeadJob]) async throws -> [JobID]

  /// Ends jobs that their handlers discarded, and keeps a record of each with the reason as its last failure:
  /// broker-only jobs, and durable ones that are still pending.
  @discardableResult
  func discard(_ discarded: [DeadJob]) async throws -> [JobID]

  /// Parks jobs that this worker cannot run until a worker that can unparks them.
  @discardableResult
  func park(_ jobs: [JobRecord]) async throws -> [JobID]

  /// Unparks the jobs that `kinds`, with the newest payload version of each, can run.
  ///
  /// - Returns: the number of unparked jobs.
  @discardableResult
  func unpark(queue: QueueName, kinds: [JobKind: Int]) async throws -> Int

  /// Returns those of `ids` that are pending.
  func pending(_ ids: [JobID], queue: QueueName) async throws -> [JobID]

  /// A page of pending jobs in id order, without parked ones.
  ///
  /// - Parameters:
  ///   - after: only ids greater than this.
  ///   - before: only ids less than this.
  func pendingIDs(queue: QueueName, after: JobID?, before: JobID, limit: Int) async throws -> [JobID]

  /// A page of pending jobs for the relay, newest first, without parked ones.
  ///
  /// - Parameters:
  ///   - after: only ids greater than this.
  ///   - before: only ids less than this.
  ///   - age: only jobs that have been pending this long by the ledger's clock, regardless of their ids.
  func newestPendingIDs(
    queue: QueueName, after: JobID, before: JobID, age: Duration, limit: Int
  ) async throws -> [JobID]

  /// Records why the broker cannot take these pending jobs.
  func refuse(_ refusals: [JobID: String], queue: QueueName) async throws

  /// The records of those of `ids` that are pending and not parked, as the broker carries them: without the payloads
  /// that stay in the ledger.
  ///
  /// - Returns: in id order, with at most `PayloadLimit.batch` bytes of payloads. If records are missing at the end,
  ///   ask again for the ids after the last record.
  func records(_ ids: [JobID], queue: QueueName) async throws -> [JobRecord]

  /// The payloads of those of `ids` that are pending, parked or not.
  ///
  /// - Parameter ids: few enough that their payloads make one batch.
  func payloads(_ ids: [JobID], queue: QueueName) async throws -> [JobID: [UInt8]]

  /// Runs `body` while this process is the only leader for `role` on this ledger; waits until it leads. When leadership
  /// is lost, `body` is cancelled and the wait begins again.
  func lead(_ role: String, _ body: @escaping @Sendable () async throws -> Void) async throws

  /// Calls `body` with the queues to which other programs commit jobs, until cancelled. The first call passes `queues`,
  /// so that no earlier job is missed; later calls pass the queues of each notification.
  ///
  /// - Throws: when it can no longer listen; the relay's sweeps find jobs added after that.
  func listen(
    to queues: Set<QueueName>, _ body: @escaping @Sendable (Set<QueueName>) async throws -> Void
  ) async throws

  /// Takes the ids of jobs that another program added and no process has pushed, each only once: the caller pushes
  /// them. If it dies first, the relay's sweeps find them.
  func takeUnpushed(queue: QueueName, limit: Int) async throws -> [JobID]

  /// Returns once the ledger has answered, over a connection that nothing else uses: a worker claims nothing while its
  /// ledger does not answer.
  ///
  /// - Throws: if no answer arrives within `limit`.
  func ping(within limit: Duration) async throws
}

extension Ledger {
  // A ledger that only this process adds to has nothing to listen to.
  public func listen(
    to queues: Set<QueueName>, _ body: @escaping @Sendable (Set<QueueName>) async throws -> Void
  ) async throws {
    while true { try await Task.sleep(for: .seconds(3600)) }
  }

  public func takeUnpushed(queue: QueueName, limit: Int) async throws -> [JobID] { [] }
}

/// The result of ending jobs in a transaction.
public struct Completion: Sendable, Hashable {
  /// Pending until now; they end with the transaction's commit.
  public var ended: [JobID]
  /// Held by another transaction.
  public var held: [JobID]

  public init(ended: [JobID], held: [JobID] = []) {
    self.ended = ended
    self.held = held
  }
}

/// A failed attempt to record.
public struct FailedJob: Sendable {
  public var id: JobID
  public var failure: JobFailure
  /// When it is due again, to the millisecond.
  public var runAt: Date

  public init(id: JobID, failure: JobFailure, runAt: Date) {
    self.id = id
    self.failure = failure
    self.runAt = runAt
  }
}

/// A durable job that is no longer pending and whose record is kept for a while.
public struct FinishedJob: Sendable {
  /// How it ended.
  public enum State: String, Codable, Sendable, CaseIterable {
    /// It was done after at least one failure.
    case done
    /// It was cancelled as no longer wanted.
    case cancelled
    /// A dead letter that an operator deleted.
    case deleted
    /// Its handler discarded it (`JobDiscard`).
    case discarded
  }

  /// With all its failures.
  public var record: JobRecord
  public var state: State

  public init(record: JobRecord, state: State) {
    self.record = record
    self.state = state
  }
}

/// A job that is no longer retried.
public struct DeadJob: Sendable {
  public var record: JobRecord
  /// The number of counted attempts, including this one.
  public var attempts: Int
  /// The last failure. Earlier ones are in the ledger for a durable job, in `record` for another.
  public var failure: JobFailure

  public init(record: JobRecord, attempts: Int, failure: JobFailure) {
    self.record = record
    self.attempts = attempts
    self.failure = failure
  }
}
