import DequeModule

/// The maximum age of a replica's data: a value that receives the servers' answers and does not query them itself.
///
/// Positions in the primary's log are recorded with the time *before* they were queried. A replica that has replayed
/// such a position shows everything committed by that time. So neither server's clock matters, and a replica that has
/// lost its primary without noticing ages all the same.
struct ReplicaFreshness: Sendable {
  private var notes: Deque<(position: Int, time: ContinuousClock.Instant)> = []
  /// The replica shows everything committed by this time; nil until known.
  private(set) var asOf: ContinuousClock.Instant?

  /// The primary's log reached `position` some time after `time`.
  mutating func primary(at position: Int, askedAt time: ContinuousClock.Instant) {
    // After a failover the log may restart further back, and records of the old one are meaningless.
    if let last = notes.last, position < last.position { notes.removeAll() }
    notes.append((position, time))
    // A minute's worth at four per second: a replica further behind is useless, and the oldest records are replayed
    // first.
    if notes.count > 240 { notes.removeFirst() }
  }

  /// The replica has replayed the log up to `position`.
  mutating func replica(at position: Int) {
    while let first = notes.first, first.position <= position {
      asOf = asOf.map { max($0, first.time) } ?? first.time
      notes.removeFirst()
    }
  }

  /// Discards all records, for example when the server turns out not to be a replica.
  mutating func forget() {
    notes.removeAll()
    asOf = nil
  }

  /// Whether the replica's data is at most `limit` old.
  func isFresh(at now: ContinuousClock.Instant, limit: Duration) -> Bool {
    guard let asOf else { return false }
    return now - asOf <= limit
  }
}
