#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import Locking

/// An in-process ledger, for tests of handlers. A transaction's writes are kept separate until it commits. Two
/// transactions that add under the same unique key wait for each other, as they do on a database's locks; a job that
/// one of them completes is held for the other.
public struct InMemoryLedger: Ledger {
  /// The pending writes of one transaction.
  public final class Transaction: Sendable {
    fileprivate struct Changes {
      var added: [JobRecord] = []
      var completed: Set<JobID> = []
    }
    fileprivate let changes = Locked(Changes())
    private let endings = Locked<[@Sendable (Bool) -> Void]>([])
    var name: ObjectIdentifier { ObjectIdentifier(self) }

    /// Calls `body` when the transaction has ended, with whether it committed, for other state that commits with it.
    func atEnd(_ body: @escaping @Sendable (Bool) -> Void) { endings.withLock { $0.append(body) } }

    fileprivate func end(commit: Bool) { for ending in endings.withLock({ $0 }) { ending(commit) } }
  }

  private struct UniqueKey: Hashable {
    var queue: QueueName
    var key: String

    init?(_ record: JobRecord) {
      guard let key = record.uniqueKey else { return nil }
      self.queue = record.queue
      self.key = key
    }
  }

  private struct State {
    var pending: [JobID: JobRecord] = [:]
    var failures: [JobID: [JobFailure]] = [:]
    var parked: Set<JobID> = []
    var refusals: [JobID: String] = [:]
    var dead: [JobID: DeadJob] = [:]
    var ended: [JobID: FinishedJob] = [:]
    var keys: [UniqueKey: JobID] = [:]
    var counts: [QueueName: Int] = [:]
    var order: [QueueName: IDOrder] = [:]
    /// The jobs that open transactions complete, and below the keys that they add.
    var lockedJobs: [JobID: ObjectIdentifier] = [:]
    var lockedKeys: [UniqueKey: ObjectIdentifier] = [:]
    var leaders: Set<String> = []

    mutating func store(_ record: JobRecord) {
      if pending.updateValue(record, forKey: record.id) == nil {
        counts[record.queue, default: 0] += 1
        order[record.queue, default: IDOrder()].insert(record.id)
      }
      if let key = UniqueKey(record) { keys[key] = record.id }
    }

    @discardableResult
    mutating func end(_ id: JobID) -> JobRecord? {
      guard let record = pending.removeValue(forKey: id) else { return nil }
      counts[record.queue, default: 0] -= 1
      if let key = UniqueKey(record), keys[key] == id { keys[key] = nil }
      parked.remove(id)
      refusals[id] = nil
      return record
    }
  }

  private let state = Locked(State())

  /// Creates an empty ledger.
  public init() {}

  /// The dead letters, each with its errors.
  public var dead: [DeadJob] { state.withLock { Array($0.dead.values) } }
  /// The records of jobs that were cancelled, or done after a failure.
  public var ended: [FinishedJob] { state.withLock { Array($0.ended.values) } }
  /// The number of pending jobs, including parked ones.
  public var pendingCount: Int { state.withLock { $0.pending.count } }
  /// The number of pending jobs of a queue, including parked ones.
  public func pendingCount(in queue: QueueName) -> Int { state.withLock { $0.counts[queue] ?? 0 } }
  /// The number of jobs waiting for a worker that knows their kind.
  public var parkedCount: Int { state.withLock { $0.parked.count } }
  /// Why the broker cannot accept jobs, by job id.
  public var refusals: [JobID: String] { state.withLock { $0.refusals } }
  /// The recorded failures of a job, oldest first.
  public func failures(of id: JobID) -> [JobFailure] { state.withLock { $0.failures[id] ?? [] } }

  public func withTransaction<Result: Sendable>(
    _ body: @Sendable (Transaction) async throws -> Result
  ) async throws -> Result {
    let transaction = Transaction()
    func end(commit: Bool) {
      let changes = transaction.changes.withLock { $0 }
      state.withLock { state in
        for id in changes.completed {
          state.lockedJobs[id] = nil
          if commit, var record = state.end(id), let failures = state.failures.removeValue(forKey: id) {
            record.failures = failures
            state.ended[id] = FinishedJob(record: record, state: .done)
          }
        }
        for record in changes.added {
          if let key = UniqueKey(record) { state.lockedKeys[key] = nil }
          if commit { state.store(record) }
        }
      }
      transaction.end(commit: commit)
    }
    do {
      let result = try await body(transaction)
      end(commit: true)
      return result
    } catch {
      end(commit: false)
      throw error
    }
  }

  @discardableResult
  public func add(_ jobs: [JobRecord], in transaction: Transaction) async throws -> [JobID] {
    var added: [JobID] = []
    for job in jobs {
      let deadline = ContinuousClock.now + UniqueKeyHeld.limit
      let isNew = try await unlocked { state -> Bool? in
        if let key = UniqueKey(job) {
          if let holder = state.lockedKeys[key] { return holder == transaction.name ? false : nil }
          // The key of a job that is being completed is free in that transaction, and held for all others.
          if let owner = state.keys[key], state.lockedJobs[owner] != transaction.name { return false }
          state.lockedKeys[key] = transaction.name
        }
        return state.pending[job.id] == nil
      } giveUp: {
        if ContinuousClock.now >= deadline { throw UniqueKeyHeld(keys: [job.uniqueKey].compactMap(\.self)) }
      }
      guard isNew else { continue }
      transaction.changes.withLock { $0.added.append(job) }
      added.append(job.id)
    }
    return added
  }

  public func complete(_ ids: [JobID], queue: QueueName, in transaction: Transaction) -> Completion {
    let completion = state.withLock { state in
      var completion = Completion(ended: [])
      for id in ids where state.pending[id]?.queue == queue {
        switch state.lockedJobs[id] {
        case nil:
          state.lockedJobs[id] = transaction.name
          completion.ended.append(id)
        case transaction.name: break
        default: completion.held.append(id)
        }
      }
      return completion
    }
    transaction.changes.withLock { $0.completed.formUnion(completion.ended) }
    return completion
  }

  /// Retries until nothing blocks `body`, or `giveUp` throws.
  private func unlocked<Result: Sendable>(
    _ body: @Sendable (inout State) -> Result?, giveUp: () throws -> Void = {}
  ) async throws -> Result {
    while true {
      if let result = state.withLock({ body(&$0) }) { return result }
      try giveUp()
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  @discardableResult
  public func complete(_ ids: [JobID], queue: QueueName) async throws -> [JobID] {
    try await withTransaction { complete(ids, queue: queue, in: $0).held }
  }

  @discardableResult
  public func cancel(_ ids: [JobID], queue: QueueName) -> [JobID] {
    settle(ids) { state, id in
      guard state.pending[id]?.queue == queue, var record = state.end(id) else { return }
      record.failures = state.failures.removeValue(forKey: id) ?? []
      state.ended[id] = FinishedJob(record: record, state: .cancelled)
    }
  }

  @discardableResult
  public func recordFailures(_ failures: [FailedJob], queue: QueueName) -> [JobID] {
    settle(failures, id: \.id) { state, failed in
      guard state.pending[failed.id]?.queue == queue else { return }
      state.pending[failed.id]?.attempts = failed.failure.attempt
      state.pending[failed.id]?.runAt = failed.runAt
      state.failures[failed.id, default: []].append(failed.failure)
    }
  }

  @discardableResult
  public func postpone(_ dates: [JobID: Date], queue: QueueName) -> [JobID] {
    settle(dates.keys.sorted(), id: \.self) { state, id in
      guard state.pending[id]?.queue == queue, let date = dates[id] else { return }
      state.pending[id]?.runAt = date
    }
  }

  @discardableResult
  public func deadLetter(_ dead: [DeadJob]) -> [JobID] {
    settle(dead, id: \.record.id) { state, job in
      var job = job
      if job.record.isDurable {
        guard let pending = state.end(job.record.id) else { return }
        job.record = pending
        job.record.failures += state.failures.removeValue(forKey: pending.id) ?? []
      }
      if state.dead[job.record.id] == nil {
        job.record.failures.append(job.failure)
        state.dead[job.record.id] = job
      }
    }
  }

  @discardableResult
  public func discard(_ discarded: [DeadJob]) -> [JobID] {
    settle(discarded, id: \.record.id) { state, job in
      var record = job.record
      if record.isDurable {
        guard let pending = state.end(record.id) else { return }
        record = pending
        record.failures += state.failures.removeValue(forKey: pending.id) ?? []
      }
      record.attempts = job.attempts
      record.failures.append(job.failure)
      state.ended[record.id] = FinishedJob(record: record, state: .discarded)
    }
  }

  /// Applies `body` to the jobs that no open transaction holds.
  ///
  /// - Returns: the held ones.
  private func settle<Item>(
    _ items: [Item], id: KeyPath<Item, JobID>, _ body: (inout State, Item) -> Void
  ) -> [JobID] {
    state.withLock { state in
      var held: [JobID] = []
      for item in items {
        if state.lockedJobs[item[keyPath: id]] != nil {
          held.append(item[keyPath: id])
        } else {
          body(&state, item)
        }
      }
      return held
    }
  }

  private func settle(_ ids: [JobID], _ body: (inout State, JobID) -> Void) -> [JobID] {
    settle(ids, id: \.self, body)
  }

  public func ping(within limit: Duration) {}

  @discardableResult
  public func park(_ jobs: [JobRecord]) -> [JobID] {
    settle(jobs, id: \.id) { state, job in
      if job.isDurable, state.pending[job.id] == nil { return }
      if !job.isDurable {
        var job = job
        job.isDurable = true
        state.store(job)
      }
      state.parked.insert(job.id)
    }
  }

  @discardableResult
  public func unpark(queue: QueueName, kinds: [JobKind: Int]) -> Int {
    state.withLock { state in
      let known = state.parked.filter { id in
        guard let record = state.pending[id], record.queue == queue else { return false }
        return kinds[record.kind].map { record.version <= $0 } ?? false
      }
      state.parked.subtract(known)
      return known.count
    }
  }

  public func pending(_ ids: [JobID], queue: QueueName) -> [JobID] {
    state.withLock { state in ids.filter { state.pending[$0]?.queue == queue } }
  }

  public func pendingIDs(queue: QueueName, after: JobID?, before: JobID, limit: Int) -> [JobID] {
    state.withLock { state in
      guard let order = state.order[queue] else { return [] }
      var page: [JobID] = []
      for id in order.ids[order.firstIndex(after: after)...] {
        if page.count == limit || id >= before { break }
        if state.pending[id]?.queue == queue, !state.parked.contains(id) { page.append(id) }
      }
      state.order[queue]?.compact(toThoseIn: state.pending, count: state.counts[queue] ?? 0)
      return page
    }
  }

  public func newestPendingIDs(
    queue: QueueName, after: JobID, before: JobID, age: Duration, limit: Int
  ) -> [JobID] {
    // The time when a job became pending is not stored: its id has it, unless that comes from a clock that was ahead.
    let now = JobClock.milliseconds
    let oldest = now - Int64(age / .milliseconds(1)) + 1
    let young = oldest...max(oldest, now + 1000)
    return state.withLock { state in
      guard let order = state.order[queue] else { return [] }
      var page: [JobID] = []
      for id in order.ids[order.firstIndex(after: after)...].reversed() where id < before {
        if page.count == limit { break }
        if young.contains(id.milliseconds) { continue }
        if state.pending[id]?.queue == queue, !state.parked.contains(id) { page.append(id) }
      }
      state.order[queue]?.compact(toThoseIn: state.pending, count: state.counts[queue] ?? 0)
      return page
    }
  }

  public func refuse(_ refusals: [JobID: String], queue: QueueName) {
    state.withLock { state in
      for (id, reason) in refusals where state.pending[id]?.queue == queue { state.refusals[id] = reason }
    }
  }

  public func records(_ ids: [JobID], queue: QueueName) -> [JobRecord] {
    state.withLock { state in
      let found = Set(ids).sorted().compactMap { id -> JobRecord? in
        guard let record = state.pending[id], record.queue == queue, !state.parked.contains(id) else { return nil }
        return record.carried
      }
      return found[...].batches().first.map { Array($0) } ?? []
    }
  }

  public func payloads(_ ids: [JobID], queue: QueueName) -> [JobID: [UInt8]] {
    state.withLock { state in
      var payloads: [JobID: [UInt8]] = [:]
      for id in ids where state.pending[id]?.queue == queue { payloads[id] = state.pending[id]?.payload }
      return payloads
    }
  }

  public func lead(_ role: String, _ body: @escaping @Sendable () async throws -> Void) async throws {
    while !state.withLock({ $0.leaders.insert(role).inserted }) {
      try await Task.sleep(for: .milliseconds(50))
    }
    defer { state.withLock { _ = $0.leaders.remove(role) } }
    try await body()
  }
}
