#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The time, and ways to wait for it. Tests supply a clock that they advance themselves.
public protocol WallClock: Sendable {
  /// The time of day.
  var now: Date { get }
  /// A monotonic instant, independent of the time of day.
  var instant: ContinuousClock.Instant { get }
  /// Waits until `moment` or less: callers check `now` again.
  func sleep(until moment: Date) async throws
  /// Waits until `instant` has advanced by `duration`.
  func sleep(for duration: Duration) async throws
}

extension WallClock {
  public var instant: ContinuousClock.Instant { .now }
  public func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}

/// The system clock, corrected by the ledger's (`JobClock`).
public struct SystemWallClock: WallClock {
  public init() {}

  public var now: Date { JobClock.now }

  /// Sleeps at most a second at a time, in order to notice clock changes.
  public func sleep(until moment: Date) async throws {
    let seconds = max(0, min(1, moment.timeIntervalSince(JobClock.now)))
    try await Task.sleep(for: .milliseconds(Int64((seconds * 1000).rounded(.up))))
  }
}

extension WallClock where Self == SystemWallClock {
  /// The system clock, corrected by the ledger's.
  public static var system: SystemWallClock { SystemWallClock() }
}
