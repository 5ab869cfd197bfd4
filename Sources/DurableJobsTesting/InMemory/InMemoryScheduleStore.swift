#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import Locking

/// An in-memory schedule store that takes part in the transactions of an ``InMemoryLedger``, for tests. Transactions on
/// the same schedule wait for each other, as on a row lock.
public struct InMemoryScheduleStore: ScheduleStore {
  public typealias Transaction = InMemoryLedger.Transaction

  private struct Entry {
    var state: ScheduleState
    var ticks: [Date: FiredTick] = [:]
  }

  /// An open transaction's lock and its changes.
  private struct Lease {
    let holder: ObjectIdentifier
    var entry: Entry
  }

  private struct Contents {
    var entries: [ScheduleName: Entry] = [:]
    var leases: [ScheduleName: Lease] = [:]
  }

  private let contents = Locked(Contents())

  public init() {}

  public func states() -> [ScheduleState] {
    contents.withLock { contents in contents.entries.values.map(\.state).sorted { $0.name < $1.name } }
  }

  public func lock(_ beginning: ScheduleState, in transaction: Transaction) async throws -> ScheduleState {
    let name = beginning.name
    let deadline = ContinuousClock.now + ScheduleError.lockLimit
    while true {
      let (state, isNew) = contents.withLock { contents -> (ScheduleState?, Bool) in
        if let lease = contents.leases[name] {
          return (lease.holder == transaction.name ? lease.entry.state : nil, false)
        }
        let entry = contents.entries[name] ?? Entry(state: beginning)
        contents.leases[name] = Lease(holder: transaction.name, entry: entry)
        return (entry.state, true)
      }
      if isNew {
        transaction.atEnd { [contents] isCommitted in
          contents.withLock { contents in
            let lease = contents.leases.removeValue(forKey: name)
            if isCommitted { contents.entries[name] = lease?.entry }
          }
        }
      }
      if let state { return state }
      if ContinuousClock.now >= deadline { throw ScheduleError(held: name) }
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  public func save(_ state: ScheduleState, in transaction: Transaction) throws {
    try change(state.name, in: transaction) { $0.state = state }
  }

  public func record(
    _ ticks: [FiredTick], of schedule: ScheduleName, in transaction: Transaction
  ) throws -> Set<Date> {
    try change(schedule, in: transaction) { entry in
      var new: Set<Date> = []
      for tick in ticks where entry.ticks[tick.tick] == nil {
        entry.ticks[tick.tick] = tick
        new.insert(tick.tick)
      }
      return new
    }
  }

  public func forget(ticksAfter moment: Date, of schedule: ScheduleName, in transaction: Transaction) throws {
    try change(schedule, in: transaction) { entry in entry.ticks = entry.ticks.filter { $0.key <= moment } }
  }

  public func ticks(of schedule: ScheduleName, limit: Int) -> [FiredTick] {
    contents.withLock { contents in
      let ticks = contents.entries[schedule].map { Array($0.ticks.values) } ?? []
      return Array(ticks.sorted { $0.tick > $1.tick }.prefix(limit))
    }
  }

  @discardableResult
  public func prune(_ schedule: ScheduleName, keep: Int, batch: Int) -> Int {
    contents.withLock { contents in
      let old = contents.entries[schedule]?.ticks.keys.sorted(by: >).dropFirst(keep).suffix(batch) ?? []
      for tick in old {
        contents.entries[schedule]?.ticks[tick] = nil
        contents.leases[schedule]?.entry.ticks[tick] = nil
      }
      return old.count
    }
  }

  /// - Throws: ``ScheduleNotLocked``.
  private func change<Result>(
    _ name: ScheduleName, in transaction: Transaction, _ body: (inout Entry) -> Result
  ) throws -> Result {
    try contents.withLock { contents in
      guard var lease = contents.leases[name], lease.holder == transaction.name else {
        throw ScheduleNotLocked(name: name)
      }
      defer { contents.leases[name] = lease }
      return body(&lease.entry)
    }
  }
}

/// The error for changing a schedule that the transaction has not locked.
struct ScheduleNotLocked: Error, CustomStringConvertible {
  let name: ScheduleName
  var description: String { "the schedule \(name) is not locked by this transaction" }
}
