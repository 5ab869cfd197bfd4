/// How a scheduler works. The defaults suit every service.
public struct SchedulerConfiguration: Sendable {
  /// A tick that is later than this was missed: it fires if its schedule makes up for missed ones. Longer than it takes
  /// another process to lead after the leader's death, which is at most 5 seconds.
  public var grace: Duration = .seconds(10)
  /// How many fired ticks of a schedule are kept at least.
  public var keptTicks = 1000
  /// After so many more the oldest are forgotten.
  public var pruneEvery = 100
  /// After a failure, until the schedule is looked at again.
  public var retryAfter: Duration = .seconds(1)

  public init() {}
}
