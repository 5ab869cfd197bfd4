import Foundation

/// How many workers a queue needs.
///
/// A stream of λ jobs a second, each of which runs for S seconds, keeps λ·S running (Little's law). What is
/// ready is a further stream, ready ÷ D: at the rate of the moment it is gone in a time D. A worker runs c at
/// once, of which a share ρ shall be busy, the rest being for what comes in bursts:
///
///     workers = ⌈ (λ + ready ÷ D) · S ÷ (c · ρ) ⌉, at least `minWorkers` and at most `maxWorkers`
///
/// λ and S are smoothed (`QueueLoad`). S is measured as the time that a job runs, so it grows when jobs share
/// too few processors, and the workers with it. There is no hysteresis here: whoever scales by the figure has its own.
public struct Autoscaling: Sendable, Hashable {
  /// 0 where a queue without work needs no worker.
  public var minWorkers: Int
  public var maxWorkers: Int
  /// ρ, above 0 and at most 1.
  public var utilization = 0.8
  /// D, in seconds.
  public var drain = 30.0
  /// Of what was seen, in seconds.
  public var halfLife = 30.0

  public init(minWorkers: Int = 1, maxWorkers: Int = 20) {
    self.minWorkers = minWorkers
    self.maxWorkers = max(minWorkers, maxWorkers)
  }

  /// - Parameters:
  ///   - ready: jobs that wait to be claimed.
  ///   - claimed: jobs in the hands of workers.
  ///   - concurrency: of one worker; at least 1.
  ///   - longest: for how many seconds the job that runs longest has run: the run time as far as it is known, before a
  ///     first job has ended.
  public func wanted(_ load: QueueLoad, ready: Int, claimed: Int, concurrency: Double, longest: Double? = nil) -> Int {
    let runTime = load.runTime ?? max(longest ?? 0, 0.1)
    let busy = (load.arrivalRate + Double(ready) / drain) * runTime
    let workers = busy / (max(1, concurrency) * utilization)
    // A load that fades never is nothing: less than a hundredth of a worker is, where nothing is there to do.
    let needed = workers < 0.01 ? 0 : Int(min(workers.rounded(.up), 1_000_000))
    let hasWork = ready + claimed > 0
    return min(maxWorkers, max(minWorkers, max(needed, hasWork ? 1 : 0)))
  }
}
