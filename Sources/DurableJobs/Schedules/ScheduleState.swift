#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A schedule's stored state, for the schedulers and for inspection.
///
/// Moments are whole milliseconds.
public struct ScheduleState: Sendable, Hashable {
  public var name: ScheduleName
  /// The timing's text. If it differs from the schedule's, the timing was changed.
  public var timing: String
  /// The kind of the jobs that it enqueues.
  public var kind: JobKind
  public var isPaused: Bool
  /// Ticks up to this moment have fired or never will.
  public var decidedUntil: Date
  /// The last tick that fired, on schedule or manually; nil before the first.
  public var lastTick: Date?
  /// The next tick, as of the last save; nil if there is none.
  public var nextTick: Date?

  public init(
    name: ScheduleName, timing: String, kind: JobKind, isPaused: Bool = false, decidedUntil: Date,
    lastTick: Date? = nil, nextTick: Date? = nil
  ) {
    self.name = name
    self.timing = timing
    self.kind = kind
    self.isPaused = isPaused
    self.decidedUntil = decidedUntil
    self.lastTick = lastTick
    self.nextTick = nextTick
  }

  /// The state of a new schedule, with no past ticks to fire.
  public init(beginning schedule: Schedule, at now: Date) {
    self.init(
      name: schedule.name, timing: schedule.timing.description, kind: schedule.kind, decidedUntil: now,
      nextTick: schedule.timing.next(after: now))
  }

  /// Stops firing.
  public mutating func pause() {
    isPaused = true
    nextTick = nil
  }

  /// Resumes firing. Ticks during the pause do not fire later.
  ///
  /// - Parameter schedule: nil if only its name is known.
  public mutating func resume(_ schedule: Schedule?, at now: Date) {
    isPaused = false
    decidedUntil = max(decidedUntil, now)
    nextTick = schedule?.timing.next(after: decidedUntil)
  }
}

/// A tick that has fired.
public struct FiredTick: Sendable, Hashable {
  /// In whole milliseconds.
  public var tick: Date
  /// The job it enqueued, which the ledger left out if its unique key was pending.
  public var job: JobID

  public init(tick: Date, job: JobID) {
    self.tick = tick
    self.job = job
  }
}
