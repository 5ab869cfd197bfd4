/// Operators' commands for a worker.
public struct WorkerCommands: Sendable, Hashable {
  /// Stop claiming, from any queue.
  public var isQuiet: Bool
  /// Shut down, as after SIGTERM.
  public var isStopped: Bool
  /// Stop claiming from these queues.
  public var pausedQueues: Set<QueueName>
  /// Cancelled jobs: those running here are cancelled too.
  public var cancelled: Set<JobID>

  public init(
    isQuiet: Bool = false, isStopped: Bool = false, pausedQueues: Set<QueueName> = [], cancelled: Set<JobID> = []
  ) {
    self.isQuiet = isQuiet
    self.isStopped = isStopped
    self.pausedQueues = pausedQueues
    self.cancelled = cancelled
  }

  /// Whether the worker must not claim from a queue.
  public func isPaused(_ queue: QueueName) -> Bool { isQuiet || isStopped || pausedQueues.contains(queue) }
}
