#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A cron expression: five fields that select minutes.
///
///     ┌ minute (0–59)
///     │ ┌ hour (0–23)
///     │ │ ┌ day of month (1–31)
///     │ │ │ ┌ month (1–12 or jan–dec)
///     │ │ │ │ ┌ day of week (0–7 or sun–sat; 0 and 7 are Sunday)
///     0 3 * * mon-fri
///
/// A field is `*`, a value, a range `a-b`, a step `*/n` or `a-b/n`, or a comma-separated list of those. `@hourly`,
/// `@daily` (`@midnight`), `@weekly`, `@monthly` and `@yearly` (`@annually`) abbreviate whole expressions.
///
/// The two day fields combine as in Vixie cron: if neither begins with `*`, a day that matches either is enough
/// (`0 0 13 * fri` is each 13th and each Friday); otherwise a day must match both.
///
/// **Daylight saving.** When clocks move forward, an hour is skipped; when they move back, an hour is repeated:
/// | | skipped hour | repeated hour |
/// |---|---|---|
/// | the hour field begins with `*` | its ticks do not happen | they happen in both |
/// | the hour is fixed, the minute field begins with `*` | one tick, right after the gap | they happen in both |
/// | hour and minute are fixed | one tick, right after the gap | they happen in the first |
///
/// So a job at a fixed hour runs once each day, and a job every few minutes keeps its pace.
public struct CronExpression: Sendable, Hashable, CustomStringConvertible {
  let minute: CronField
  let hour: CronField
  let dayOfMonth: CronField
  let month: CronField
  let dayOfWeek: CronField
  /// The expression as written, with single spaces.
  public let description: String

  /// - Throws: `.expression`, with the invalid field, its error and its valid values.
  public init(_ text: String) throws(ScheduleError) {
    let words = text.split(whereSeparator: \.isWhitespace)
    description = words.joined(separator: " ")
    var fields = words
    if let first = words.first, first.hasPrefix("@") {
      guard words.count == 1, let meaning = Self.shorthands.first(where: { $0.name == first.lowercased() }) else {
        let known = Self.shorthands.map(\.name).joined(separator: ", ")
        throw ScheduleError(
          .expression, "the cron expression '\(description)' is unknown; those that begin with @ are: \(known)")
      }
      fields = meaning.fields.split(separator: " ")
    }
    guard fields.count == CronField.Kind.all.count else {
      let names = CronField.Kind.all.map(\.name).joined(separator: ", ")
      throw ScheduleError(
        .expression, "the cron expression '\(description)' has \(fields.count) fields instead of five: \(names)")
    }
    var read: [CronField] = []
    for (field, kind) in zip(fields, CronField.Kind.all) {
      do throws(CronField.Wrong) {
        read.append(try CronField(field, kind))
      } catch {
        throw ScheduleError(
          .expression, "the \(kind.name) '\(field)' of the cron expression '\(description)' is invalid: \(error.reason)"
        )
      }
    }
    (minute, hour, dayOfMonth, month, dayOfWeek) = (read[0], read[1], read[2], read[3], read[4])
  }

  private static let shorthands: [(name: String, fields: String)] = [
    ("@hourly", "0 * * * *"), ("@daily", "0 0 * * *"), ("@midnight", "0 0 * * *"), ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"), ("@yearly", "0 0 1 1 *"), ("@annually", "0 0 1 1 *"),
  ]
}

extension CronExpression {
  /// The first tick after `moment` by the clocks of `zone`; nil if there is none, such as for 30 February.
  public func next(after moment: Date, in zone: TimeZone) -> Date? {
    next(after: moment.unixMilliseconds.floored(by: 1000), in: zone).map { Date(timeIntervalSince1970: Double($0)) }
  }

  /// The ticks after `start`, up to and including `end`.
  public func ticks(after start: Date, through end: Date, in zone: TimeZone) -> some Sequence<Date> {
    sequence(state: start) { latest -> Date? in
      guard let next = next(after: latest, in: zone), next <= end else { return nil }
      latest = next
      return next
    }
  }

  /// More than any clock's offset from UTC, in seconds.
  private static var reach: Int64 { 36 * 3600 }
  private static var day: Int64 { 86400 }

  /// The first tick after `second`, in seconds since 1970.
  func next(after second: Int64, in zone: TimeZone) -> Int64? {
    var from = second + 1
    let horizon = from + 400 * 366 * Self.day
    while from < horizon {
      guard let wall = firstWallTime(from: from - Self.reach) else { return nil }
      // Nothing ticks before this, so the search for a leap day skips the days until then.
      from = max(from, wall - Self.reach)
      let end = from + 4 * Self.day
      if let tick = firstTick(from: from, before: end, in: zone) { return tick }
      from = end
    }
    return nil
  }

  /// Follows the wall clock from two days earlier, in order to recognize repeated times.
  private func firstTick(from start: Int64, before end: Int64, in zone: TimeZone) -> Int64? {
    var shown: Int64?
    for span in ClockSpans(of: zone, from: start - 2 * Self.day, before: end) {
      let begin = span.start + span.offset
      // The latest wall time shown or skipped so far; normally equal to `begin`.
      let reached = shown ?? begin
      shown = max(reached, span.end + span.offset)
      guard span.end > start else { continue }
      if reached < begin, !hour.isWildcard, span.start >= start, names(reached..<begin) { return span.start }
      var first = max(begin, start + span.offset)
      if !hour.isWildcard && !minute.isWildcard { first = max(first, reached) }
      if let wall = firstWallTime(from: first), wall < span.end + span.offset { return wall - span.offset }
    }
    return nil
  }

  private func names(_ walls: Range<Int64>) -> Bool {
    firstWallTime(from: walls.lowerBound).map { $0 < walls.upperBound } ?? false
  }
}

/// Consecutive spans of time in which a zone's UTC offset is constant.
private struct ClockSpans: Sequence, IteratorProtocol {
  struct Span {
    /// Seconds since 1970.
    let start: Int64
    let end: Int64
    /// Seconds by which the clocks are ahead of UTC.
    let offset: Int64
  }

  private let zone: TimeZone
  private var start: Int64
  private let limit: Int64
  private var offset: Int64

  init(of zone: TimeZone, from start: Int64, before limit: Int64) {
    self.zone = zone
    self.start = start
    self.limit = limit
    offset = Self.offset(of: zone, at: start)
  }

  /// Checks one day ahead, since clocks do not change twice in a day. Foundation's next transition covers only daylight
  /// saving, not other changes.
  mutating func next() -> Span? {
    if start >= limit { return nil }
    var end = Swift.min(start + 86400, limit)
    let later = Self.offset(of: zone, at: end)
    if later != offset {
      var before = start
      while end - before > 1 {
        let middle = before + (end - before) / 2
        if Self.offset(of: zone, at: middle) == offset { before = middle } else { end = middle }
      }
    }
    defer {
      start = end
      offset = later
    }
    return Span(start: start, end: end, offset: offset)
  }

  private static func offset(of zone: TimeZone, at second: Int64) -> Int64 {
    Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(second))))
  }
}

/// Matches an expression against the calendar, without time zones.
///
/// Times are seconds since 1970-01-01T00:00:00 on the wall clock.
extension CronExpression {
  /// The first matching minute that does not begin before `wall`; nil if there is none within 400 years, after which
  /// dates and weekdays repeat.
  func firstWallTime(from wall: Int64) -> Int64? {
    let first = (wall + 59).floored(by: 60)
    let day = first.floored(by: 1440)
    if matches(day), let minutes = timeOfDay(from: Int(first - day * 1440)) { return (day * 1440 + minutes) * 60 }
    guard let next = firstDay(from: day + 1), let minutes = timeOfDay(from: 0) else { return nil }
    return (next * 1440 + minutes) * 60
  }

  /// The first matching time of day at or after `minutes`, in minutes.
  private func timeOfDay(from minutes: Int) -> Int64? {
    let (startHour, startMinute) = minutes.quotientAndRemainder(dividingBy: 60)
    if hour.contains(startHour), let minute = minute.first(from: startMinute) { return Int64(startHour * 60 + minute) }
    guard let hour = hour.first(from: startHour + 1), let minute = minute.first(from: 0) else { return nil }
    return Int64(hour * 60 + minute)
  }

  private func matches(_ day: Int64) -> Bool {
    let date = CivilDate(day: day)
    return month.contains(date.month) && matches(date, weekday: CivilDate.weekday(of: day))
  }

  private func matches(_ date: CivilDate, weekday: Int) -> Bool {
    let (byDate, byWeekday) = (dayOfMonth.contains(date.day), dayOfWeek.contains(weekday))
    return dayOfMonth.isWildcard || dayOfWeek.isWildcard ? byDate && byWeekday : byDate || byWeekday
  }

  private func firstDay(from day: Int64) -> Int64? {
    var day = day
    var date = CivilDate(day: day)
    for _ in 0...4800 {
      let length = date.monthLength
      if month.contains(date.month) {
        while date.day <= length {
          if matches(date, weekday: CivilDate.weekday(of: day)) { return day }
          date.day += 1
          day += 1
        }
      }
      day += Int64(length - date.day + 1)
      date = CivilDate(
        year: date.month == 12 ? date.year + 1 : date.year, month: date.month == 12 ? 1 : date.month + 1, day: 1)
    }
    return nil
  }
}
