/// A queue's figures at one moment, shared by its list, its samples and the live screen. None of them needs a scan of
/// the queue.
///
/// ``QueueLoad`` and ``StatisticsTotals`` differ: they cover a period of time.
public struct QueueNumbers: Codable, Sendable, Hashable {
  public var queue: String
  /// Waiting in the broker to be claimed.
  public var ready = 0
  /// Waiting in the broker for their time.
  public var delayed = 0
  /// Claimed by workers.
  public var claimed = 0
  /// Workers that serve the queue.
  public var workers = 0
  /// Whether an operator has paused the queue, so that workers claim nothing from it.
  public var isPaused = false
  /// How long the longest-waiting ready job has been ready, in seconds; nil if none is.
  public var oldestWaiting: Double?
  /// How long the longest-running job has run, in seconds; nil if none is running.
  public var oldestRunning: Double?

  public init(queue: String) { self.queue = queue }
}
