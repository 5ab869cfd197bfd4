import DequeModule

/// Who has which connection and who waits for one. A value without I/O: it is told what happened and says what to do.
struct PoolState<Connection: AnyObject> {
  typealias Waiter = UInt64

  struct Idle {
    let connection: Connection
    let since: ContinuousClock.Instant
  }

  enum Release: Equatable {
    /// It goes to the one who has waited longest.
    case grant(Waiter)
    case keep
    /// The pool is closed, or the connection is gone.
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

  /// An idle connection, now leased; the one used last, so that those not needed grow old. nil where one must wait.
  mutating func takeIdle() -> Idle? {
    // Nobody overtakes those who wait already.
    guard waiters.isEmpty, let last = idle.popLast() else { return nil }
    leased += 1
    return last
  }

  /// The same, unless that one is not trusted.
  mutating func takeIdle(if isTrusted: (Idle) -> Bool) -> Idle? {
    guard let last = idle.last, isTrusted(last) else { return nil }
    return takeIdle()
  }

  /// An idle connection, now leased; nil where `waiter` waits for one from now on. One step, so that nobody waits while
  /// a connection lies idle.
  mutating func takeIdle(orWait waiter: Waiter) -> Idle? {
    if let idle = takeIdle() { return idle }
    waiters.append(waiter)
    return nil
  }

  /// Removes a waiter who gave up; false if it has been given a connection.
  mutating func giveUp(_ waiter: Waiter) -> Bool {
    guard let place = waiters.firstIndex(of: waiter) else { return false }
    waiters.remove(at: place)
    return true
  }

  /// All who wait give up.
  mutating func giveUpAll() -> [Waiter] {
    defer { waiters = [] }
    return Array(waiters)
  }

  /// How many connections to begin to open now. After a failure one at a time is tried.
  mutating func takeOpenings() -> Int {
    guard !isClosed else { return 0 }
    let room = size - idle.count - leased - opening
    let wanted = min(waiters.count - opening, room)
    let count = max(0, failures > 0 ? min(wanted, 1 - opening) : wanted)
    opening += count
    return count
  }

  /// A connection came about.
  mutating func opened(_ connection: Connection, at now: ContinuousClock.Instant) -> Release {
    opening -= 1
    failures = 0
    leased += 1
    return released(connection, isUsable: true, at: now)
  }

  /// An attempt failed. `takeOpenings` says what to try next, after `backoff`.
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

  /// A connection was lost; one that is leased is told of when it is released.
  mutating func lost(_ connection: Connection) {
    idle.removeAll { $0.connection === connection }
  }

  /// From here on nobody gets a connection. Returns who waits and what lies idle.
  mutating func close() -> (waiters: [Waiter], idle: [Connection]) {
    isClosed = true
    defer {
      waiters = []
      idle = []
    }
    return (Array(waiters), idle.map(\.connection))
  }

  /// How long to wait before the next attempt: doubles from 50 ms to 500 ms, so that a server that is back is found
  /// soon; `jitter` from 0 to 1 takes up to half of it off.
  func backoff(jitter: Double) -> Duration {
    guard failures > 0 else { return .zero }
    let whole = min(0.05 * Double(1 << min(failures - 1, 10)), 0.5)
    return .seconds(whole * (1 - 0.5 * jitter))
  }
}

extension PoolState.Idle: Sendable where Connection: Sendable {}
