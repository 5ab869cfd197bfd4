import DurableJobs

/// What a test compares of a queue's depth: how many jobs are where, whatever their priority and their age.
public struct QueueCounts: Sendable, Hashable {
  /// Waiting to be claimed.
  public var ready: Int
  /// In the hands of workers.
  public var claimed: Int
  /// Waiting for their time.
  public var delayed: Int
  /// Consumers that are alive.
  public var workers: Int

  public init(ready: Int = 0, claimed: Int = 0, delayed: Int = 0, workers: Int = 0) {
    self.ready = ready
    self.claimed = claimed
    self.delayed = delayed
    self.workers = workers
  }
}

extension QueueDepth {
  /// How many jobs are where.
  public var counts: QueueCounts {
    QueueCounts(ready: ready, claimed: claimed, delayed: delayed, workers: workers)
  }
}
