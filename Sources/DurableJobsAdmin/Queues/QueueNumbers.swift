/// How a queue stands at one moment: the numbers that its list, its samples and the live screen have in common. None of
/// them takes a walk through the queue.
///
/// ``QueueLoad`` and ``StatisticsTotals`` are something else: what came and went in a stretch of time.
public struct QueueNumbers: Codable, Sendable, Hashable {
  public var queue: String
  /// Waiting in the broker to be claimed.
  public var ready = 0
  /// Waiting in the broker for their time.
  public var delayed = 0
  /// In the hands of workers.
  public var claimed = 0
  /// Workers that serve the queue.
  public var workers = 0
  /// Whether workers claim nothing from it, since an operator paused it.
  public var isPaused = false
  /// For how many seconds the job has been ready that has been so longest; nil where none is.
  public var oldestWaiting: Double?
  /// For how many seconds the job has run that has done so longest; nil where none does.
  public var oldestRunning: Double?

  public init(queue: String) { self.queue = queue }
}
