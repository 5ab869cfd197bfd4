#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The time, and ways to wait for it. Tests bring a clock of their own and move it, so that a day passes at once.
public protocol WallClock: Sendable {
  /// The time of day.
  var now: Date { get }
  /// A moment that only goes forward, whatever becomes of the time of day.
  var instant: ContinuousClock.Instant { get }
  /// Waits for `moment`, or for less: callers compare `now` again.
  func sleep(until moment: Date) async throws
  /// Waits for as long as `instant` takes to advance by `duration`.
  func sleep(for duration: Duration) async throws
}

extension WallClock {
  public var instant: ContinuousClock.Instant { .now }
  public func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}

/// The system's clock, corrected by the ledger's (`JobClock`).
public struct SystemWallClock: WallClock {
  public init() {}

  public var now: Date { JobClock.now }

  /// Naps of a second at most, so that a clock that is set meanwhile is noticed.
  public func sleep(until moment: Date) async throws {
    let seconds = max(0, min(1, moment.timeIntervalSince(JobClock.now)))
    try await Task.sleep(for: .milliseconds(Int64((seconds * 1000).rounded(.up))))
  }
}

extension WallClock where Self == SystemWallClock {
  /// The system's clock, corrected by the ledger's.
  public static var system: SystemWallClock { SystemWallClock() }
}
