/// An instant of the monotonic clock, with the time of day.
struct Moment: Sendable {
  let instant: ContinuousClock.Instant
  /// Milliseconds since 1970.
  let milliseconds: Int64
}

extension WallClock {
  var moment: Moment { Moment(instant: instant, milliseconds: now.unixMilliseconds) }
}
