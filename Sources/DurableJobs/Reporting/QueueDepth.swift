#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The number of jobs of a queue in the broker by state, read without scanning it.
public struct QueueDepth: Sendable, Hashable {
  /// Ready to claim, by priority.
  public var high: Int
  public var normal: Int
  public var low: Int
  /// Claimed by workers.
  public var claimed: Int
  /// Waiting until they are due.
  public var delayed: Int
  /// Durable jobs in the broker: ready, delayed or claimed. The ledger's other pending jobs are parked or in flight.
  public var known: Int
  /// Live consumers.
  public var workers: Int
  /// When the job that has been ready longest became ready; nil if none is ready.
  public var oldestReadyAt: Date?

  public init(
    high: Int = 0, normal: Int = 0, low: Int = 0, claimed: Int = 0, delayed: Int = 0, known: Int = 0,
    workers: Int = 0, oldestReadyAt: Date? = nil
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

  /// Jobs ready to claim.
  public var ready: Int { high + normal + low }
}
