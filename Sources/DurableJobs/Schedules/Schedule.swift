#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A job that is asked for again and again, at the ticks of a timing.
///
/// ```swift
/// Schedule("rankings.daily", try .cron("0 0 * * *", zone)) { tick in ComputeRanking(day: tick.time) }
/// Schedule("sessions.sweep", try .every(.seconds(3600)), options: JobOptions(uniqueKey: "sweep")) { _ in
///   SweepSessions()
/// }
/// ```
///
/// A tick fires once, whatever the number of workers: it asks for its job in the transaction that notes it as fired.
/// Like every durable job, that one may be delivered twice, and what it does outside its transaction must bear that.
public struct Schedule: Sendable {
  /// Under which its ticks and its pause are kept: rename it, and it begins anew.
  public let name: ScheduleName
  /// When it ticks.
  public let timing: Timing
  /// What becomes of ticks while no worker runs.
  public let missed: MissedTicks
  /// The kind of the jobs that it asks for.
  public let kind: JobKind
  let record: @Sendable (Tick) throws -> JobRecord

  /// - Parameters:
  ///   - options: of each job. With a unique key, a tick whose predecessor's job is still pending asks for none.
  ///   - job: the job of one tick.
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

  /// The job that a tick asks for, to be added to a transaction.
  ///
  /// - Throws: what the kind's encoder throws.
  public func job(at tick: Tick) throws -> JobRecord { try record(tick) }

  /// Checks what the kinds of a list cannot say: each name is one, and stands there once.
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

/// One moment at which a schedule fires.
public struct Tick: Sendable, Hashable {
  public let schedule: ScheduleName
  /// Milliseconds since 1970.
  public let milliseconds: Int64

  public init(schedule: ScheduleName, milliseconds: Int64) {
    self.schedule = schedule
    self.milliseconds = milliseconds
  }

  /// When it is due by its timing; it may fire a little later.
  public var time: Date { Date(unixMilliseconds: milliseconds) }
}

extension Date {
  /// - Parameter milliseconds: since 1970.
  package init(unixMilliseconds milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }

  /// Milliseconds since 1970, to the nearest one; what lies beyond a million years is brought to that.
  package var unixMilliseconds: Int64 {
    let bound = 3.2e16
    let milliseconds = (timeIntervalSince1970 * 1000).rounded()
    return milliseconds.isNaN ? 0 : Int64(max(-bound, min(bound, milliseconds)))
  }
}
