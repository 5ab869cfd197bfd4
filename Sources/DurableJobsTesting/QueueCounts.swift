import DurableJobs

/// The part of a queue's depth that tests compare: the number of jobs in each state, regardless of priority and age.
public struct QueueCounts: Sendable, Hashable {
  /// Ready to claim.
  public var ready: Int
  /// Claimed by workers.
  public var claimed: Int
  /// Waiting until they are due.
  public var delayed: Int
  /// Live consumers.
  public var workers: Int

  public init(ready: Int = 0, claimed: Int = 0, delayed: Int = 0, workers: Int = 0) {
    self.ready = ready
    self.claimed = claimed
    self.delayed = delayed
    self.workers = workers
  }
}

extension QueueDepth {
  /// The number of jobs in each state.
  public var counts: QueueCounts {
    QueueCounts(ready: ready, claimed: claimed, delayed: delayed, workers: workers)
  }
}
