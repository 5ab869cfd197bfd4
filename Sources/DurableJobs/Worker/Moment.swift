/// A moment by the clock that only goes forward, and the time of day at it.
struct Moment: Sendable {
  let instant: ContinuousClock.Instant
  /// Milliseconds since 1970.
  let milliseconds: Int64
}

extension WallClock {
  var moment: Moment { Moment(instant: instant, milliseconds: now.unixMilliseconds) }
}
