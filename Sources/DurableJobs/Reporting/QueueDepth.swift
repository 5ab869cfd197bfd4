/// What the broker holds of a queue, told without walking through it.
public struct QueueDepth: Sendable, Hashable, Codable {
  /// Waiting to be claimed, by priority.
  public var high: Int
  public var normal: Int
  public var low: Int
  /// In the hands of workers.
  public var claimed: Int
  /// Waiting for their time.
  public var delayed: Int
  /// Durable jobs that it knows: ready, delayed or claimed. What the ledger owes besides is parked or on its way here.
  public var known: Int
  /// Consumers that are alive.
  public var workers: Int
  /// Milliseconds since 1970 at which the job became ready that has been so longest; nil where none is ready.
  public var oldestReadyAt: Int64?

  public init(
    high: Int = 0, normal: Int = 0, low: Int = 0, claimed: Int = 0, delayed: Int = 0, known: Int = 0,
    workers: Int = 0, oldestReadyAt: Int64? = nil
  ) {
    self.high = high
    self.normal = normal
    self.low = low
    self.claimed = claimed
    self.delayed = delayed
    self.known = known
    self.workers = workers
    self.oldestReadyAt = oldestReadyAt
  }

  /// Waiting to be claimed.
  public var ready: Int { high + normal + low }
}
