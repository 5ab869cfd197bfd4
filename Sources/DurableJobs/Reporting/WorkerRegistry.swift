/// Where workers report their status and receive operators' commands.
///
/// Jobs do not depend on it: a worker that cannot reach its registry keeps following the last commands.
public protocol WorkerRegistry: Sendable {
  /// Records that a worker is alive, and adds its minutes to the totals: each batch only once, even if it is reported
  /// repeatedly.
  ///
  /// - Returns: the current commands for the worker.
  func heartbeat(_ report: WorkerReport) async throws -> WorkerCommands

  /// Removes a worker that no longer runs anything, and adds its last minutes.
  func leave(_ report: WorkerReport) async throws
}
