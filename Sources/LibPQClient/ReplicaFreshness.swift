import DequeModule

/// How old what a replica shows may be at most: a value that is told what the servers said and does not ask them
/// itself.
///
/// Positions in the primary's log are noted with the time *before* they were asked for. A replica that has replayed
/// such a position shows all that was committed by that time. So neither server's clock matters, and a replica that has
/// lost its primary without knowing grows old all the same.
struct ReplicaFreshness: Sendable {
  private var notes: Deque<(position: Int, time: ContinuousClock.Instant)> = []
  /// What was committed by then the replica shows; nil before that is known of any time.
  private(set) var asOf: ContinuousClock.Instant?

  /// The primary's log had reached `position` some time after `time`.
  mutating func primary(at position: Int, askedAt time: ContinuousClock.Instant) {
    // After a failover the log may begin anew further back, and what was noted of the old one says nothing.
    if let last = notes.last, position < last.position { notes.removeAll() }
    notes.append((position, time))
    // A minute's worth at four a second: a replica further behind is of no use, and the oldest notes are replayed
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

  /// Nothing is known any more, such as when the replica is found to be none.
  mutating func forget() {
    notes.removeAll()
    asOf = nil
  }

  /// Whether what the replica shows is at most `limit` old.
  func isFresh(at now: ContinuousClock.Instant, limit: Duration) -> Bool {
    guard let asOf else { return false }
    return now - asOf <= limit
  }
}
