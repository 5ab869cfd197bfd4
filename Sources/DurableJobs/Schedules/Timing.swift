#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// When a schedule ticks. Every process computes the same ticks from it.
public struct Timing: Sendable, Hashable {
  private enum Form: Sendable, Hashable {
    case every(milliseconds: Int64)
    case cron(CronExpression, TimeZone)
  }

  private let form: Form

  /// The shortest interval.
  public static let shortestInterval = Duration.milliseconds(100)

  /// At each multiple of `interval` since 1970-01-01T00:00:00Z, regardless of when a process started: every 6 hours is
  /// at 0, 6, 12 and 18 o'clock UTC.
  ///
  /// - Throws: `.interval` if it is under 100 ms, over 366 days, or not a whole number of milliseconds.
  public static func every(_ interval: Duration) throws(ScheduleError) -> Timing {
    let isWhole = interval.components.attoseconds % 1_000_000_000_000_000 == 0
    guard interval >= shortestInterval, interval <= .seconds(366 * 86400), isWhole else {
      throw ScheduleError(
        .interval,
        "the interval \(interval) is out of range: use whole milliseconds, from 100 to a year")
    }
    return Timing(form: .every(milliseconds: interval.milliseconds))
  }

  /// At the ticks of a ``CronExpression``, by the clocks of `zone`.
  ///
  /// - Throws: `.expression`, with the invalid field.
  public static func cron(_ expression: String, _ zone: TimeZone) throws(ScheduleError) -> Timing {
    Timing(form: .cron(try CronExpression(expression), zone))
  }

  /// The first tick after `moment`; nil if there is none, such as for 30 February.
  public func next(after moment: Date) -> Date? {
    next(after: moment.unixMilliseconds).map { Date(unixMilliseconds: $0) }
  }

  /// The first tick after `milliseconds` since 1970.
  func next(after milliseconds: Int64) -> Int64? {
    switch form {
    case .every(let interval): return (milliseconds.floored(by: interval) + 1) * interval
    case .cron(let expression, let zone):
      return expression.next(after: milliseconds.floored(by: 1000), in: zone).map { $0 * 1000 }
    }
  }

  /// The newest ticks in a range of time, oldest first.
  ///
  /// - Parameters:
  ///   - count: the maximum number.
  ///   - after: milliseconds since 1970, exclusive.
  ///   - end: milliseconds since 1970, inclusive.
  func newest(_ count: Int, after: Int64, through end: Int64) -> [Int64] {
    if count <= 0 || after >= end { return [] }
    // Searches back from the end in growing steps: a year without a scheduler may contain millions of ticks.
    var stretch: Int64 = 3_600_000
    while true {
      let start = max(after, end - min(stretch, end - after))
      var ticks: [Int64] = []
      var latest = start
      while let tick = next(after: latest), tick <= end {
        ticks.append(tick)
        latest = tick
      }
      if ticks.count >= count || start == after { return Array(ticks.suffix(count)) }
      stretch *= 4
    }
  }
}

extension Timing: CustomStringConvertible {
  /// `every 6h`, or the expression and its time zone: `0 0 * * * Asia/Seoul`.
  public var description: String {
    switch form {
    case .cron(let expression, let zone): return "\(expression) \(zone.identifier)"
    case .every(let milliseconds):
      let units: [(name: String, size: Int64)] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)]
      for unit in units where milliseconds % unit.size == 0 { return "every \(milliseconds / unit.size)\(unit.name)" }
      return "every \(milliseconds)ms"
    }
  }
}

extension FixedWidthInteger {
  /// Division by a positive `divisor`, rounded down, also for negative values.
  func floored(by divisor: Self) -> Self {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
  }
}
