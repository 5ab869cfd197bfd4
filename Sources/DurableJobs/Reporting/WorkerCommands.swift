/// What operators want of a worker.
public struct WorkerCommands: Sendable, Hashable {
  /// Claim no more, from any queue.
  public var isQuiet: Bool
  /// End, as after SIGTERM.
  public var isStopped: Bool
  /// Claim no more from these.
  public var pausedQueues: Set<QueueName>
  /// Jobs that are not wanted any more: those that run here are cancelled.
  public var cancelled: Set<JobID>

  public init(
    isQuiet: Bool = false, isStopped: Bool = false, pausedQueues: Set<QueueName> = [], cancelled: Set<JobID> = []
  ) {
    self.isQuiet = isQuiet
    self.isStopped = isStopped
    self.pausedQueues = pausedQueues
    self.cancelled = cancelled
  }

  /// Whether nothing is to be claimed from a queue.
  public func isPaused(_ queue: QueueName) -> Bool { isQuiet || isStopped || pausedQueues.contains(queue) }
}
