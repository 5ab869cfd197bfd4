/// Where workers say what they do and are told what operators want of them.
///
/// Jobs do not depend on it: a worker that cannot reach its registry goes on as it was last told.
public protocol WorkerRegistry: Sendable {
  /// Notes that a worker is there, and adds its minutes to what was counted before: once, however often their batch is
  /// told.
  ///
  /// - Returns: what is asked of it now.
  func heartbeat(_ report: WorkerReport) async throws -> WorkerCommands

  /// Forgets a worker, once it runs nothing any more, and adds its last minutes.
  func leave(_ report: WorkerReport) async throws
}
