/// A scheduler's settings. The defaults suit every service.
public struct SchedulerConfiguration: Sendable {
  /// A tick later than this counts as missed, and fires only as its schedule's `missed` says. Longer than the time
  /// until another process leads after the leader's death, which is at most 5 seconds.
  public var grace: Duration = .seconds(10)
  /// The minimum number of fired ticks kept for each schedule.
  public var keptTicks = 1000
  /// Prunes the oldest ticks after this many new ones.
  public var pruneEvery = 100
  /// The pause before a schedule is retried after a failure.
  public var retryAfter: Duration = .seconds(1)

  public init() {}
}
