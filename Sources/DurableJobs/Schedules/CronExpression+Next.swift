#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension CronExpression {
  /// The first tick after `moment` by the clocks of `zone`; nil if there never is one, such as on 30 February.
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

  /// No clock differs from UTC by as much, in seconds.
  private static var reach: Int64 { 36 * 3600 }
  private static var day: Int64 { 86400 }

  /// The first tick after `second`, in seconds since 1970.
  func next(after second: Int64, in zone: TimeZone) -> Int64? {
    var from = second + 1
    let horizon = from + 400 * 366 * Self.day
    while from < horizon {
      guard let wall = firstWallTime(from: from - Self.reach) else { return nil }
      // Nothing ticks before this, so that a leap day is not looked for day by day.
      from = max(from, wall - Self.reach)
      let end = from + 4 * Self.day
      if let tick = firstTick(from: from, before: end, in: zone) { return tick }
      from = end
    }
    return nil
  }

  /// Follows the wall's clock from two days earlier on, so that a time is known that happens for the second time.
  private func firstTick(from start: Int64, before end: Int64, in zone: TimeZone) -> Int64? {
    var shown: Int64?
    for span in ClockSpans(of: zone, from: start - 2 * Self.day, before: end) {
      let begin = span.start + span.offset
      // What the clock has shown or jumped over; it reaches `begin` where nothing unusual happens.
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

/// Stretches of time through which a zone's clocks run evenly, one after another.
private struct ClockSpans: Sequence, IteratorProtocol {
  struct Span {
    /// Seconds since 1970.
    let start: Int64
    let end: Int64
    /// Seconds that the clocks are ahead of UTC.
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

  /// Looks a day ahead, since clocks are not changed twice in a day. What Foundation says of the next change leaves out
  /// those that are not for daylight saving.
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
