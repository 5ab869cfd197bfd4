/// What is kept of a schedule, for whoever fires it next and for whoever looks at it.
///
/// Moments are milliseconds since 1970.
public struct ScheduleState: Sendable, Hashable {
  public var name: ScheduleName
  /// The timing's text. Another one than the schedule's own says that it was changed.
  public var timing: String
  /// The kind of the jobs that it asks for.
  public var kind: JobKind
  public var isPaused: Bool
  /// Ticks up to this moment have fired or never will.
  public var decidedUntil: Int64
  /// The last tick that fired, by the timing or by hand; nil before the first.
  public var lastTick: Int64?
  /// The next tick, as it looked when the state was saved; nil if there is none.
  public var nextTick: Int64?

  public init(
    name: ScheduleName, timing: String, kind: JobKind, isPaused: Bool = false, decidedUntil: Int64,
    lastTick: Int64? = nil, nextTick: Int64? = nil
  ) {
    self.name = name
    self.timing = timing
    self.kind = kind
    self.isPaused = isPaused
    self.decidedUntil = decidedUntil
    self.lastTick = lastTick
    self.nextTick = nextTick
  }

  /// As a schedule begins: with nothing in the past to fire.
  public init(beginning schedule: Schedule, at now: Int64) {
    self.init(
      name: schedule.name, timing: schedule.timing.description, kind: schedule.kind, decidedUntil: now,
      nextTick: schedule.timing.next(after: now))
  }

  /// Fires no more from now on.
  public mutating func pause() {
    isPaused = true
    nextTick = nil
  }

  /// Lets it fire again. The ticks of the pause are not made up for: they were not to happen.
  ///
  /// - Parameter schedule: nil where only its name is known.
  public mutating func resume(_ schedule: Schedule?, at now: Int64) {
    isPaused = false
    decidedUntil = max(decidedUntil, now)
    nextTick = schedule?.timing.next(after: decidedUntil)
  }
}

/// A tick that has fired.
public struct FiredTick: Sendable, Hashable {
  /// Milliseconds since 1970.
  public var tick: Int64
  /// The job that it asked for, which the ledger left out if its unique key was pending.
  public var job: JobID

  public init(tick: Int64, job: JobID) {
    self.tick = tick
    self.job = job
  }
}
