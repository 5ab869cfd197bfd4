#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A job that is enqueued repeatedly, at the ticks of a timing.
///
/// ```swift
/// Schedule("rankings.daily", try .cron("0 0 * * *", zone)) { tick in ComputeRanking(day: tick.time) }
/// Schedule("sessions.sweep", try .every(.seconds(3600)), options: JobOptions(uniqueKey: "sweep")) { _ in
///   SweepSessions()
/// }
/// ```
///
/// A tick fires once, regardless of the number of workers: its job is enqueued in the transaction that records the
/// tick. Like every durable job, it may be delivered twice, so its effects outside its transaction must be idempotent.
public struct Schedule: Sendable {
  /// Identifies its ticks and its pause: a renamed schedule starts over.
  public let name: ScheduleName
  /// When it ticks.
  public let timing: Timing
  /// What happens to ticks while no scheduler is running.
  public let missed: MissedTicks
  /// The kind of the jobs that it enqueues.
  public let kind: JobKind
  let record: @Sendable (Tick) throws -> JobRecord

  /// - Parameters:
  ///   - options: of each job. With a unique key, a tick is skipped while an earlier tick's job is pending.
  ///   - job: creates a tick's job.
  public init<J: Job>(
    _ name: ScheduleName, _ timing: Timing, missed: MissedTicks = .latest, options: JobOptions = JobOptions(),
    job: @escaping @Sendable (Tick) -> J
  ) {
    self.name = name
    self.timing = timing
    self.missed = missed
    kind = J.kind
    record = { tick in try JobRecord(job(tick), options: options, isDurable: true) }
  }

  /// A tick's job, to add to a transaction.
  ///
  /// - Throws: any error of the kind's encoder.
  public func job(at tick: Tick) throws -> JobRecord { try record(tick) }

  /// Checks that each name in a list is valid and unique.
  ///
  /// - Throws: `.name`.
  public static func check(_ schedules: [Schedule]) throws(ScheduleError) {
    var names: Set<ScheduleName> = []
    for schedule in schedules {
      guard schedule.name.isValid else {
        throw ScheduleError(
          .name, "'\(schedule.name)' is not a valid schedule name: use 1 to 64 letters, digits, '-', '_' and '.'")
      }
      guard names.insert(schedule.name).inserted else {
        throw ScheduleError(.name, "two schedules are named '\(schedule.name)': give each a unique name")
      }
    }
  }
}

/// A moment at which a schedule fires.
public struct Tick: Sendable, Hashable {
  public let schedule: ScheduleName
  /// When it is due by its timing, in whole milliseconds; it may fire a little later.
  public let time: Date

  public init(schedule: ScheduleName, time: Date) {
    self.schedule = schedule
    self.time = time
  }
}

extension Date {
  /// - Parameter milliseconds: since 1970.
  package init(unixMilliseconds milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }

  /// Milliseconds since 1970, rounded, and clamped to about a million years.
  package var unixMilliseconds: Int64 {
    let bound = 3.2e16
    let milliseconds = (timeIntervalSince1970 * 1000).rounded()
    return milliseconds.isNaN ? 0 : Int64(max(-bound, min(bound, milliseconds)))
  }
}
