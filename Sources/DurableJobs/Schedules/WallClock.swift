#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The time of day, and a way to wait for it. Tests bring one of their own, so that a day passes when they say so.
public protocol WallClock: Sendable {
  /// The time of day.
  var now: Date { get }
  /// Waits for `moment`, or for less: whoever waits looks at `now` again.
  func sleep(until moment: Date) async throws
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
