#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The record of every durable job that is pending: from the transaction that asked for it until the transaction that
/// did it.
///
/// Every implementation passes the conformance suite in `DurableJobsTesting`.
public protocol Ledger: Sendable {
  /// What the ledger's own writes and the app's writes share, so that both commit or neither.
  associatedtype Transaction: Sendable

  /// Commits what `body` wrote when it returns; undoes it when it throws.
  func withTransaction<Result: Sendable>(
    _ body: @Sendable (Transaction) async throws -> Result
  ) async throws -> Result

  /// Owes jobs. Those whose unique key is pending already are left out, without a wait: a job that runs has its key
  /// until the transaction that ends it has committed, and within that transaction the key is free.
  ///
  /// - Returns: the ids of the jobs that were added.
  /// - Throws: `UniqueKeyHeld` where another transaction is adding a job under one of the keys and does not end.
  @discardableResult
  func add(_ jobs: [JobRecord], in transaction: Transaction) async throws -> [JobID]

  /// Ends jobs in a transaction: the first one to do so does them. Of those that had failed before a record is kept.
  ///
  /// It never waits for another transaction, whose session may belong to a worker that will never finish it: a job that
  /// another transaction holds is neither ended nor done.
  func complete(_ ids: [JobID], queue: QueueName, in transaction: Transaction) async throws -> Completion

  /// Ends jobs whose handlers wrote nothing through the ledger's transaction.
  ///
  /// - Returns: those that another transaction holds, which are still pending. The same holds for all that follow.
  @discardableResult
  func complete(_ ids: [JobID], queue: QueueName) async throws -> [JobID]

  /// Ends jobs that are not wanted any more, and keeps a record of those that were pending.
  @discardableResult
  func cancel(_ ids: [JobID], queue: QueueName) async throws -> [JobID]

  /// Notes failed attempts of durable jobs and when each is due again.
  @discardableResult
  func recordFailures(_ failures: [FailedJob], queue: QueueName) async throws -> [JobID]

  /// Notes when jobs that their handlers have put off are due again; no attempt is counted.
  @discardableResult
  func postpone(_ dates: [JobID: Date], queue: QueueName) async throws -> [JobID]

  /// Makes jobs dead letters, with all their errors. Broker-only jobs too; of durable ones those that are still
  /// pending.
  @discardableResult
  func deadLetter(_ dead: [DeadJob]) async throws -> [JobID]

  /// Ends jobs that their handlers have discarded, and keeps a record of each with the reason as its last failure.
  /// Broker-only jobs too; of durable ones those that are still pending.
  @discardableResult
  func discard(_ discarded: [DeadJob]) async throws -> [JobID]

  /// Keeps jobs that this worker cannot run until one that can unparks them.
  @discardableResult
  func park(_ jobs: [JobRecord]) async throws -> [JobID]

  /// Owes again what is parked and what `kinds` (with the newest payload version of each) can run.
  ///
  /// - Returns: how many.
  @discardableResult
  func unpark(queue: QueueName, kinds: [JobKind: Int]) async throws -> Int

  /// Those of `ids` that are pending.
  func pending(_ ids: [JobID], queue: QueueName) async throws -> [JobID]

  /// A page of pending jobs in the order of their ids: parked ones are not among them.
  ///
  /// - Parameters:
  ///   - after: only ids greater than this.
  ///   - before: only ids less than this.
  func pendingIDs(queue: QueueName, after: JobID?, before: JobID, limit: Int) async throws -> [JobID]

  /// A page of pending jobs, the newest first, for the relay: parked ones are not among them.
  ///
  /// - Parameters:
  ///   - after: only ids greater than this.
  ///   - before: only ids less than this.
  ///   - age: only jobs that have been pending for so long, by the ledger's clock, whatever their ids say.
  func newestPendingIDs(
    queue: QueueName, after: JobID, before: JobID, age: Duration, limit: Int
  ) async throws -> [JobID]

  /// Notes of pending jobs why the broker cannot take them.
  func refuse(_ refusals: [JobID: String], queue: QueueName) async throws

  /// The records of those of `ids` that are pending and not parked, as the broker carries them: without payloads that
  /// stay here.
  ///
  /// - Returns: in the order of their ids, and no more than `PayloadLimit.batch` bytes of payloads. Where records are
  ///   missing at the end, the ids beyond the last record are to be asked for again.
  func records(_ ids: [JobID], queue: QueueName) async throws -> [JobRecord]

  /// The payloads of those of `ids` that are pending, parked or not.
  ///
  /// - Parameter ids: so few that their payloads are a batch.
  func payloads(_ ids: [JobID], queue: QueueName) async throws -> [JobID: [UInt8]]

  /// Runs `body` while this process, alone among all on this ledger, leads in `role`; waits until it does. `body` is
  /// cancelled when leadership is lost, and the wait begins again.
  func lead(_ role: String, _ body: @escaping @Sendable () async throws -> Void) async throws

  /// Calls `body` with the queues to which other programs have added jobs, as those commit, until cancelled: at once
  /// with `queues` when it begins, so that nothing added before is missed, and then with those it hears of.
  ///
  /// - Throws: where it can no longer hear; jobs added from then on are found by the relay's sweeps.
  func listen(
    to queues: Set<QueueName>, _ body: @escaping @Sendable (Set<QueueName>) async throws -> Void
  ) async throws

  /// Takes the ids of jobs that another program has added and no process has pushed, each given once: the caller pushes
  /// them. Should it die first, the relay's sweeps find them.
  func takeUnpushed(queue: QueueName, limit: Int) async throws -> [JobID]

  /// Returns once the ledger has answered, on a way that nothing else uses: a worker whose ledger is silent claims
  /// nothing.
  ///
  /// - Throws: where no answer came within `limit`.
  func ping(within limit: Duration) async throws
}

extension Ledger {
  // A ledger that only this process adds to hears of nothing.
  public func listen(
    to queues: Set<QueueName>, _ body: @escaping @Sendable (Set<QueueName>) async throws -> Void
  ) async throws {
    while true { try await Task.sleep(for: .seconds(3600)) }
  }

  public func takeUnpushed(queue: QueueName, limit: Int) async throws -> [JobID] { [] }
}

/// What became of jobs that a transaction was to end.
public struct Completion: Sendable, Hashable {
  /// Pending until now; they end with the transaction's commit.
  public var ended: [JobID]
  /// In the hands of another transaction.
  public var held: [JobID]

  public init(ended: [JobID], held: [JobID] = []) {
    self.ended = ended
    self.held = held
  }
}

/// A failed attempt to be noted.
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

/// A durable job that is not pending any more, as a record of it is kept for a while.
public struct FinishedJob: Sendable {
  /// How it ended.
  public enum State: String, Codable, Sendable, CaseIterable {
    /// It was done, after it had failed.
    case done
    /// Somebody did not want it any more.
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

/// A job that is not tried any more.
public struct DeadJob: Sendable {
  public var record: JobRecord
  /// The attempts that were counted, this one included.
  public var attempts: Int
  /// The last failure; the ledger has the earlier ones of a durable job, `record` those of another.
  public var failure: JobFailure

  public init(record: JobRecord, attempts: Int, failure: JobFailure) {
    self.record = record
    self.attempts = attempts
    self.failure = failure
  }
}
