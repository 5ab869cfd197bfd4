import DurableJobs
import Foundation

/// A schedule, for people who look at it.
public struct ScheduleSummary: Codable, Sendable, Hashable {
  /// How it stands with a schedule.
  public enum State: String, Codable, Sendable, CaseIterable {
    /// A worker fires it.
    case active
    /// Nobody fires it until it is resumed.
    case paused
    /// Its next tick is more than a minute ago: no worker runs its scheduler.
    case overdue
    /// No worker has known it yet.
    case new
    /// Another version of the app had it; this one does not.
    case unknown
  }

  public let name: String
  public let state: State
  /// An interval, or a cron expression and its time zone.
  public let timing: String
  /// Of the jobs that it asks for.
  public let kind: String
  /// The last tick that fired.
  public let lastTick: Date?
  /// nil for a schedule that is paused or new, or whose time never comes.
  public let nextTick: Date?

  /// - Parameter isKnown: whether this version of the app has it.
  init(_ kept: ScheduleState, isKnown: Bool, now: Date) {
    func date(_ milliseconds: Int64?) -> Date? { milliseconds.map { Date(timeIntervalSince1970: Double($0) / 1000) } }
    name = kept.name.rawValue
    timing = kept.timing
    kind = kept.kind.rawValue
    lastTick = date(kept.lastTick)
    nextTick = date(kept.nextTick)
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

  /// One that no worker has known yet.
  init(new schedule: Schedule) {
    name = schedule.name.rawValue
    timing = schedule.timing.description
    kind = schedule.kind.rawValue
    (state, lastTick, nextTick) = (.new, nil, nil)
  }
}
