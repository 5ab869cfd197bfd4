#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Stores the states of schedules and their fired ticks, in a ledger's transactions.
///
/// Every implementation passes the conformance suite in `DurableJobsTesting`.
public protocol ScheduleStore: Sendable {
  /// The ledger's transaction, so that a tick and its job commit together.
  associatedtype Transaction: Sendable

  /// All states, by name.
  func states() async throws -> [ScheduleState]

  /// The state of a schedule, locked until the transaction ends. Waits at most a second for another transaction's lock.
  ///
  /// - Parameter beginning: the initial state, stored if there is none.
  /// - Throws: `ScheduleError` with code `held` if another transaction holds the lock longer.
  func lock(_ beginning: ScheduleState, in transaction: Transaction) async throws -> ScheduleState

  /// Replaces a state that the transaction has locked.
  func save(_ state: ScheduleState, in transaction: Transaction) async throws

  /// Records ticks of a locked schedule as fired.
  ///
  /// - Returns: those that had not fired before.
  func record(
    _ ticks: [FiredTick], of schedule: ScheduleName, in transaction: Transaction
  ) async throws -> Set<Date>

  /// Deletes the records of a locked schedule's ticks after `moment`.
  func forget(ticksAfter moment: Date, of schedule: ScheduleName, in transaction: Transaction) async throws

  /// The fired ticks, newest first.
  func ticks(of schedule: ScheduleName, limit: Int) async throws -> [FiredTick]

  /// Deletes the oldest ticks of a schedule, at most `batch` of them, but none of the newest `keep`.
  ///
  /// - Returns: the number of deleted ticks.
  @discardableResult
  func prune(_ schedule: ScheduleName, keep: Int, batch: Int) async throws -> Int
}
