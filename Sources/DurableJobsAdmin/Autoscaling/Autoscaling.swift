import Foundation

/// How many workers a queue needs.
///
/// A stream of λ jobs a second, each of which runs for S seconds, keeps λ·S running (Little's law). The ready jobs
/// count as a further stream, ready ÷ D, which clears them in a time D at the current rate. A worker runs c jobs at
/// once, and a share ρ of them should be busy; the rest is headroom for bursts:
///
///     workers = ⌈ (λ + ready ÷ D) · S ÷ (c · ρ) ⌉, at least `minWorkers` and at most `maxWorkers`
///
/// λ and S are smoothed (`QueueLoad`). S is measured as the time that a job runs, so it grows when jobs share
/// too few processors, and the worker count with it. There is no hysteresis here: the autoscaler has its own.
public struct Autoscaling: Sendable, Hashable {
  /// 0 if a queue without work needs no worker.
  public var minWorkers: Int
  public var maxWorkers: Int
  /// ρ, above 0 and at most 1.
  public var utilization = 0.8
  /// D, in seconds.
  public var drain = 30.0
  /// The half-life of past measurements, in seconds.
  public var halfLife = 30.0

  public init(minWorkers: Int = 1, maxWorkers: Int = 20) {
    self.minWorkers = minWorkers
    self.maxWorkers = max(minWorkers, maxWorkers)
  }

  /// - Parameters:
  ///   - ready: jobs waiting to be claimed.
  ///   - claimed: jobs that workers have claimed.
  ///   - concurrency: jobs that one worker runs at once; at least 1.
  ///   - longest: how long the longest-running job has run, in seconds. It is the estimate of the run time until a
  ///     first job has ended.
  public func wanted(_ load: QueueLoad, ready: Int, claimed: Int, concurrency: Double, longest: Double? = nil) -> Int {
    let runTime = load.runTime ?? max(longest ?? 0, 0.1)
    let busy = (load.arrivalRate + Double(ready) / drain) * runTime
    let workers = busy / (max(1, concurrency) * utilization)
    // A decaying load never reaches zero, so less than a hundredth of a worker counts as none if there is no work.
    let needed = workers < 0.01 ? 0 : Int(min(workers.rounded(.up), 1_000_000))
    let hasWork = ready + claimed > 0
    return min(maxWorkers, max(minWorkers, max(needed, hasWork ? 1 : 0)))
  }
}
