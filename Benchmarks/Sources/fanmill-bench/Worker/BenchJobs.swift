import CRawLimits
import DurableJobs

/// A no-op job.
struct NoOp: Job {
  static let kind: JobKind = "bench.no-op"
  var number: Int
}

/// A job that reports the time from its enqueue to its start.
struct Timed: Job {
  static let kind: JobKind = "bench.timed"
  /// In nanoseconds of the clock that all processes share.
  var at: Int64
}

/// A job that sleeps and uses no CPU.
struct Nap: Job {
  static let kind: JobKind = "bench.nap"
  var milliseconds: Int
}

/// The clock that all processes of the machine share.
enum SharedClock {
  /// Nanoseconds since 1970.
  static var now: Int64 { bench_now() }
}
