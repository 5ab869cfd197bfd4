import HeapModule

/// Identifies a timer of one loop, for `EventLoop.cancel(_:)`.
public struct TimerID: Hashable, Sendable {
  let number: UInt64
}

/// Timers by deadline. Removal is lazy: a removed timer's heap entry is dropped when it becomes due.
struct TimerQueue {
  private struct Entry: Comparable {
    let deadline: ContinuousClock.Instant
    let number: UInt64
    static func < (one: Entry, other: Entry) -> Bool {
      (one.deadline, one.number) < (other.deadline, other.number)
    }
  }

  private var heap = Heap<Entry>()
  private var bodies: [UInt64: () -> Void] = [:]
  private var next: UInt64 = 0

  mutating func add(at deadline: ContinuousClock.Instant, _ body: @escaping () -> Void) -> TimerID {
    next += 1
    heap.insert(Entry(deadline: deadline, number: next))
    bodies[next] = body
    return TimerID(number: next)
  }

  mutating func remove(_ timer: TimerID) {
    bodies[timer.number] = nil
    // A client that sets and cancels a timeout per command would otherwise fill the heap with stale entries.
    if heap.count > 64, heap.count > 4 * bodies.count {
      heap = Heap(heap.unordered.filter { bodies[$0.number] != nil })
    }
  }

  /// Removes and returns the next due timer. One at a time, so that a timer can still cancel another that is due with
  /// it.
  mutating func popDue(at now: ContinuousClock.Instant) -> (() -> Void)? {
    while let entry = heap.min, entry.deadline <= now || bodies[entry.number] == nil {
      heap.removeMin()
      if let body = bodies.removeValue(forKey: entry.number) { return body }
    }
    return nil
  }

  /// How long `epoll_wait` may sleep: -1 forever, 0 not at all; rounded up, so that a timer is due on waking.
  func millisecondsToNext(from now: ContinuousClock.Instant) -> Int32 {
    guard let entry = heap.min else { return -1 }
    let (seconds, attoseconds) = (entry.deadline - now).components
    if seconds < 0 || attoseconds < 0 { return 0 }
    let milliseconds = seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    return Int32(clamping: milliseconds)
  }
}
