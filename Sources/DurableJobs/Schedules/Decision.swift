#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The decision about a schedule's ticks at one moment, computed from its state and the time without I/O.
struct Decision: Equatable {
  /// The ticks to fire, oldest first.
  var ticks: [Int64] = []
  /// Whether ticks were missed that never fire. They are not counted: there may be millions.
  var hasSkipped = false
  /// The state to save.
  var state: ScheduleState
  /// Whether an earlier decision used a clock that was ahead: ticks recorded in the future fired too early.
  var isTakenBack = false
  /// When to decide again, in milliseconds since 1970; nil for never.
  var next: Int64?

  /// - Parameters:
  ///   - state: the saved state.
  ///   - grace: ticks later than this, in milliseconds, count as missed.
  init(_ schedule: Schedule, _ state: ScheduleState, now: Int64, grace: Int64) {
    self.state = state
    let timing = schedule.timing
    if state.decidedUntil.unixMilliseconds > now + Self.tolerance {
      // The saved decisions reach into the future, so how far they covered the past is unknown. Ticks that fired
      // within the grace period do not fire again.
      isTakenBack = true
      self.state.decidedUntil = Date(unixMilliseconds: now - grace)
      if let last = state.lastTick, last.unixMilliseconds > now { self.state.lastTick = nil }
    }
    if state.timing != timing.description {
      // Ticks that the new timing would have had in the past do not fire.
      self.state.timing = timing.description
      self.state.decidedUntil = max(self.state.decidedUntil, Date(unixMilliseconds: now))
    }
    self.state.kind = schedule.kind
    next = timing.next(after: max(self.state.decidedUntil.unixMilliseconds, now))
    if state.isPaused { return }
    let decided = self.state.decidedUntil.unixMilliseconds
    if let first = timing.next(after: decided), first <= now {
      let edge = max(decided, now - grace - 1)
      let onTime = timing.newest(Self.maxOnTime, after: edge, through: now)
      let missed = schedule.missed
      var late: [Int64] = []
      if onTime.isEmpty || missed.firesBesideNewer {
        late = timing.newest(missed.limit, after: decided, through: edge)
      }
      ticks = late + onTime
      hasSkipped = ticks.first != first
      self.state.decidedUntil = Date(unixMilliseconds: now)
      self.state.lastTick = ticks.last.map { Date(unixMilliseconds: $0) } ?? state.lastTick
    }
    self.state.nextTick = next.map { Date(unixMilliseconds: $0) }
  }

  /// The clocks of processes differ by only a fraction of this, in milliseconds.
  private static let tolerance: Int64 = 1000
  /// More ticks than a grace period of seconds can contain.
  private static let maxOnTime = 10_000
}
