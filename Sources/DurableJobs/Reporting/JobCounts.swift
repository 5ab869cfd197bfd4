/// How many jobs ended in which way, and how long they took.
public struct JobCounts: Sendable, Hashable {
  /// Jobs that are done.
  public var completed = 0
  /// Attempts that failed and are retried.
  public var failed = 0
  /// Jobs that became dead letters.
  public var dead = 0
  /// The total run time of the attempts. A job of a batch counts its share of the batch's time.
  public var run = Duration.zero
  /// The total time that the jobs were ready before they started.
  public var wait = Duration.zero
  /// The run times, one for each attempt.
  public var runTimes = DurationHistogram()
  /// The waiting times, one for each attempt.
  public var waitTimes = DurationHistogram()

  public init() {}

  /// Whether no attempt was counted.
  public var isEmpty: Bool { completed + failed + dead == 0 }

  public static func += (sum: inout JobCounts, more: JobCounts) {
    sum.completed += more.completed
    sum.failed += more.failed
    sum.dead += more.dead
    sum.run += more.run
    sum.wait += more.wait
    sum.runTimes += more.runTimes
    sum.waitTimes += more.waitTimes
  }
}
