import DurableJobs
import Foundation

/// A schedule, for display.
public struct ScheduleSummary: Codable, Sendable, Hashable {
  /// The state of a schedule.
  public enum State: String, Codable, Sendable, CaseIterable {
    /// A worker fires it.
    case active
    /// No worker fires it until it is resumed.
    case paused
    /// Its next tick is more than a minute ago: no worker runs its scheduler.
    case overdue
    /// No worker has seen it yet.
    case new
    /// Another version of the app had it; this one does not.
    case unknown
  }

  public let name: String
  public let state: State
  /// An interval, or a cron expression and its time zone.
  public let timing: String
  /// The kind of job that it enqueues.
  public let kind: String
  /// The last tick that fired.
  public let lastTick: Date?
  /// nil for a schedule that is paused or new, or that never fires again.
  public let nextTick: Date?

  /// - Parameter isKnown: whether this version of the app has it.
  init(_ kept: ScheduleState, isKnown: Bool, now: Date) {
    name = kept.name.rawValue
    timing = kept.timing
    kind = kept.kind.rawValue
    lastTick = kept.lastTick
    nextTick = kept.nextTick
    state =
      if kept.isPaused {
        .paused
      } else if !isKnown {
        .unknown
      } else if let nextTick, nextTick < now - 60 {
        .overdue
      } else {
        .active
      }
  }

  /// A schedule that no worker has seen yet.
  init(new schedule: Schedule) {
    name = schedule.name.rawValue
    timing = schedule.timing.description
    kind = schedule.kind.rawValue
    (state, lastTick, nextTick) = (.new, nil, nil)
  }
}
