import DequeModule

/// The leases and the waiters of a pool. A value without I/O: it is notified of events and returns what to do.
struct PoolState<Connection: AnyObject> {
  typealias Waiter = UInt64

  struct Idle {
    let connection: Connection
    let since: ContinuousClock.Instant
  }

  enum Release: Equatable {
    /// Grant it to the waiter who has waited longest.
    case grant(Waiter)
    case keep
    /// The pool is closed, or the connection is lost.
    case drop
  }

  let size: Int
  private var idle: [Idle] = []
  private var leased = 0
  private var opening = 0
  private var waiters: Deque<Waiter> = []
  private(set) var failures = 0
  private(set) var isClosed = false

  init(size: Int) { self.size = size }

  var isEmpty: Bool { idle.isEmpty && leased == 0 && opening == 0 }
  var idleCount: Int { idle.count }
  var leasedCount: Int { leased }
  var waiterCount: Int { waiters.count }

  /// An idle connection, now leased: the most recently used one, so that surplus ones age. nil if the caller must wait.
  mutating func takeIdle() -> Idle? {
    // New callers must not overtake waiters.
    guard waiters.isEmpty, let last = idle.popLast() else { return nil }
    leased += 1
    return last
  }

  /// Like `takeIdle()`, but only if that connection is trusted.
  mutating func takeIdle(if isTrusted: (Idle) -> Bool) -> Idle? {
    guard let last = idle.last, isTrusted(last) else { return nil }
    return takeIdle()
  }

  /// An idle connection, now leased; nil if `waiter` is now queued. A single step, so that no caller waits while a
  /// connection is idle.
  mutating func takeIdle(orWait waiter: Waiter) -> Idle? {
    if let idle = takeIdle() { return idle }
    waiters.append(waiter)
    return nil
  }

  /// Removes a waiter who gave up; false if it already has a connection.
  mutating func giveUp(_ waiter: Waiter) -> Bool {
    guard let place = waiters.firstIndex(of: waiter) else { return false }
    waiters.remove(at: place)
    return true
  }

  /// Removes all waiters.
  mutating func giveUpAll() -> [Waiter] {
    defer { waiters = [] }
    return Array(waiters)
  }

  /// The number of connections to start opening now. After a failure, one is tried at a time.
  mutating func takeOpenings() -> Int {
    guard !isClosed else { return 0 }
    let room = size - idle.count - leased - opening
    let wanted = min(waiters.count - opening, room)
    let count = max(0, failures > 0 ? min(wanted, 1 - opening) : wanted)
    opening += count
    return count
  }

  /// A connection was opened.
  mutating func opened(_ connection: Connection, at now: ContinuousClock.Instant) -> Release {
    opening -= 1
    failures = 0
    leased += 1
    return released(connection, isUsable: true, at: now)
  }

  /// An attempt failed. `takeOpenings` returns what to try next, after `backoff`.
  mutating func failedToOpen() {
    opening -= 1
    failures += 1
  }

  /// A lease ended.
  mutating func released(_ connection: Connection, isUsable: Bool, at now: ContinuousClock.Instant) -> Release {
    guard isUsable, !isClosed else {
      leased -= 1
      return .drop
    }
    if let waiter = waiters.popFirst() { return .grant(waiter) }
    leased -= 1
    idle.append(Idle(connection: connection, since: now))
    return .keep
  }

  /// A connection was lost; a leased one is handled when it is released.
  mutating func lost(_ connection: Connection) {
    idle.removeAll { $0.connection === connection }
  }

  /// Closes the pool: no caller gets a connection any more. Returns the waiters and the idle connections.
  mutating func close() -> (waiters: [Waiter], idle: [Connection]) {
    isClosed = true
    defer {
      waiters = []
      idle = []
    }
    return (Array(waiters), idle.map(\.connection))
  }

  /// The pause before the next attempt: doubles from 50 ms to 500 ms, so that a returning server is found soon;
  /// `jitter` from 0 to 1 takes up to half of it off.
  func backoff(jitter: Double) -> Duration {
    guard failures > 0 else { return .zero }
    let whole = min(0.05 * Double(1 << min(failures - 1, 10)), 0.5)
    return .seconds(whole * (1 - 0.5 * jitter))
  }
}

extension PoolState.Idle: Sendable where Connection: Sendable {}
