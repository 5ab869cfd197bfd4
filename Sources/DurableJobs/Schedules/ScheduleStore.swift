/// Keeps the states of schedules and the ticks that have fired, in the transactions of a ledger.
///
/// Every implementation passes the conformance suite in `DurableJobsTesting`.
public protocol ScheduleStore: Sendable {
  /// The ledger's, so that a tick fires and its job is pending in one commit.
  associatedtype Transaction: Sendable

  /// All states, by name.
  func states() async throws -> [ScheduleState]

  /// The state of a schedule, locked until the transaction ends. Waits for a second at most for a transaction that
  /// holds it.
  ///
  /// - Parameter beginning: becomes the state if there is none.
  /// - Throws: `ScheduleError` of code `held` where another transaction has it for longer.
  func lock(_ beginning: ScheduleState, in transaction: Transaction) async throws -> ScheduleState

  /// Replaces a state that the transaction has locked.
  func save(_ state: ScheduleState, in transaction: Transaction) async throws

  /// Notes ticks of a locked schedule as fired.
  ///
  /// - Returns: those that nobody had fired before.
  func record(
    _ ticks: [FiredTick], of schedule: ScheduleName, in transaction: Transaction
  ) async throws -> Set<Int64>

  /// Forgets that ticks of a locked schedule have fired: those after `moment`, in milliseconds since 1970.
  func forget(ticksAfter moment: Int64, of schedule: ScheduleName, in transaction: Transaction) async throws

  /// The ticks that have fired, the newest first.
  func ticks(of schedule: ScheduleName, limit: Int) async throws -> [FiredTick]

  /// Forgets the oldest ticks of a schedule, at most `batch` of them, but none of the newest `keep`.
  ///
  /// - Returns: how many.
  @discardableResult
  func prune(_ schedule: ScheduleName, keep: Int, batch: Int) async throws -> Int
}
