import CRawLimits
import DurableJobs

/// A job that does nothing.
struct NoOp: Job {
  static let kind: JobKind = "bench.no-op"
  var number: Int
}

/// A job that says how long it took from being asked for to being begun.
struct Timed: Job {
  static let kind: JobKind = "bench.timed"
  /// Nanoseconds of the clock that all processes share.
  var at: Int64
}

/// A job that takes its time and no processor's.
struct Nap: Job {
  static let kind: JobKind = "bench.nap"
  var milliseconds: Int
}

/// The clock that all processes of the machine share.
enum SharedClock {
  /// Nanoseconds since 1970.
  static var now: Int64 { bench_now() }
}
