/// What is to be done about a schedule now: worked out from its state and the time, without any server.
struct Decision: Equatable {
  /// Fire, oldest first.
  var ticks: [Int64] = []
  /// Whether ticks were missed that never fire. They are not counted: there may be millions.
  var hasSkipped = false
  /// What is to be kept.
  var state: ScheduleState
  /// Whether the state was decided by a clock that was ahead: ticks that are noted beyond the present have fired too
  /// early.
  var isTakenBack = false
  /// When to look again, in milliseconds since 1970; nil for never.
  var next: Int64?

  /// - Parameters:
  ///   - state: as it is kept.
  ///   - grace: a tick that is later than this, in milliseconds, was missed.
  init(_ schedule: Schedule, _ state: ScheduleState, now: Int64, grace: Int64) {
    self.state = state
    let timing = schedule.timing
    if state.decidedUntil > now + Self.tolerance {
      // No process decides about the future. How far the decisions about the present went is unknown; ticks within the
      // grace that have fired do not fire again.
      isTakenBack = true
      self.state.decidedUntil = now - grace
      if let last = state.lastTick, last > now { self.state.lastTick = nil }
    }
    if state.timing != timing.description {
      // Of the ticks that the new timing would have had nobody knew.
      self.state.timing = timing.description
      self.state.decidedUntil = max(self.state.decidedUntil, now)
    }
    self.state.kind = schedule.kind
    next = timing.next(after: max(self.state.decidedUntil, now))
    if state.isPaused { return }
    let decided = self.state.decidedUntil
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
      self.state.decidedUntil = now
      self.state.lastTick = ticks.last ?? state.lastTick
    }
    self.state.nextTick = next
  }

  /// Processes agree on the time to fractions of this, in milliseconds.
  private static let tolerance: Int64 = 1000
  /// More than a grace of seconds can hold.
  private static let maxOnTime = 10_000
}
