import Locking

/// A ledger within the process, for tests of handlers. A transaction's writes are kept apart until it commits.
public struct InMemoryLedger: Ledger {
  /// What one transaction has asked for.
  public final class Transaction: Sendable {
    fileprivate struct Changes {
      var added: [JobRecord] = []
      var completed: Set<JobID> = []
    }
    fileprivate let changes = Locked(Changes())
  }

  private struct State {
    var owed: [JobID: JobRecord] = [:]
    var failures: [JobID: [JobFailure]] = [:]
    var parked: Set<JobID> = []
    var dead: [JobID: DeadJob] = [:]
    /// Ids that an open transaction is about to complete: another one has to wait, as on a row lock.
    var locked: Set<JobID> = []
    var leaders: Set<String> = []
  }

  private let state = Locked(State())

  public init() {}

  /// The dead letters, each with its errors.
  public var dead: [DeadJob] { state.withLock { Array($0.dead.values) } }
  public var owedCount: Int { state.withLock { $0.owed.count } }
  public var parkedCount: Int { state.withLock { $0.parked.count } }
  /// The failures noted of a job, oldest first.
  public func failures(of id: JobID) -> [JobFailure] { state.withLock { $0.failures[id] ?? [] } }

  public func withTransaction<Result: Sendable>(
    _ body: @Sendable (Transaction) async throws -> Result
  ) async throws -> Result {
    let transaction = Transaction()
    func end(commit: Bool) {
      let changes = transaction.changes.withLock { $0 }
      state.withLock { state in
        state.locked.subtract(changes.completed)
        guard commit else { return }
        for id in changes.completed {
          state.owed[id] = nil
          state.parked.remove(id)
          state.failures[id] = nil
        }
        for record in changes.added { state.owed[record.id] = record }
      }
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
  public func add(_ jobs: [JobRecord], in transaction: Transaction) -> [JobID] {
    let keys = state.withLock { state in Set(state.owed.values.compactMap(\.uniqueKey)) }
    return transaction.changes.withLock { changes in
      var keys = keys.union(changes.added.compactMap(\.uniqueKey))
      let added = jobs.filter { job in job.uniqueKey.map { keys.insert($0).inserted } ?? true }
      changes.added += added
      return added.map(\.id)
    }
  }

  public func complete(_ ids: [JobID], queue: QueueName, in transaction: Transaction) async throws -> [JobID] {
    while true {
      let taken = state.withLock { state -> [JobID]? in
        guard state.locked.isDisjoint(with: ids) else { return nil }
        let owed = ids.filter { state.owed[$0]?.queue == queue }
        state.locked.formUnion(owed)
        return owed
      }
      if let taken {
        transaction.changes.withLock { $0.completed.formUnion(taken) }
        return taken
      }
      try Task.checkCancellation()
      await Task.yield()
    }
  }

  public func complete(_ ids: [JobID], queue: QueueName) async throws {
    try await withTransaction { _ = try await complete(ids, queue: queue, in: $0) }
  }

  public func recordFailures(_ failures: [FailedJob], queue: QueueName) {
    state.withLock { state in
      for failed in failures where state.owed[failed.id] != nil {
        state.owed[failed.id]?.attempts = failed.failure.attempt
        state.owed[failed.id]?.runAt = failed.runAt
        state.failures[failed.id, default: []].append(failed.failure)
      }
    }
  }

  public func bury(_ dead: [DeadJob]) {
    state.withLock { state in
      for job in dead {
        if job.record.isDurable, state.owed.removeValue(forKey: job.record.id) == nil { continue }
        var job = job
        job.record.failures += (state.failures.removeValue(forKey: job.record.id) ?? []) + [job.failure]
        state.dead[job.record.id] = job
      }
    }
  }

  public func park(_ jobs: [JobRecord]) {
    state.withLock { state in
      for job in jobs {
        if job.isDurable, state.owed[job.id] == nil { continue }
        if !job.isDurable {
          var job = job
          job.isDurable = true
          state.owed[job.id] = job
        }
        state.parked.insert(job.id)
      }
    }
  }

  @discardableResult
  public func unpark(queue: QueueName, kinds: [JobKind: Int]) -> Int {
    state.withLock { state in
      let known = state.parked.filter { id in
        guard let record = state.owed[id], record.queue == queue else { return false }
        return kinds[record.kind].map { record.version <= $0 } ?? false
      }
      state.parked.subtract(known)
      return known.count
    }
  }

  public func owed(_ ids: [JobID], queue: QueueName) -> [JobID] {
    state.withLock { state in ids.filter { state.owed[$0]?.queue == queue } }
  }

  public func owedIDs(queue: QueueName, after: JobID?, before: JobID, limit: Int) -> [JobID] {
    state.withLock { state in
      state.owed.values
        .filter { $0.queue == queue && $0.id < before && !state.parked.contains($0.id) }
        .map(\.id).filter { id in after.map { $0 < id } ?? true }
        .sorted().prefix(limit).map { $0 }
    }
  }

  public func records(_ ids: [JobID], queue: QueueName) -> [JobRecord] {
    state.withLock { state in ids.compactMap { state.parked.contains($0) ? nil : state.owed[$0] } }
  }

  public func lead(_ role: String, _ body: @escaping @Sendable () async throws -> Void) async throws {
    while !state.withLock({ $0.leaders.insert(role).inserted }) {
      try await Task.sleep(for: .milliseconds(50))
    }
    defer { state.withLock { _ = $0.leaders.remove(role) } }
    try await body()
  }
}
