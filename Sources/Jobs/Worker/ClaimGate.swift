import Locking

/// Closed while a queue is paused: whoever claims waits before it.
final class ClaimGate: Sendable {
  private struct State {
    var isClosed = false
    /// The worker stops: nobody waits any more.
    var isEnded = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Locked(State())

  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// - Returns: whether this has changed anything.
  func close() -> Bool {
    state.withLock { state in
      if state.isClosed { return false }
      state.isClosed = true
      return true
    }
  }

  func open() {
    let waiter = state.withLock { state in
      state.isClosed = false
      return Self.takeWaiter(&state)
    }
    waiter?.resume()
  }

  /// Lets the one who waits through, and everybody from now on.
  func end() {
    let waiter = state.withLock { state in
      state.isEnded = true
      return Self.takeWaiter(&state)
    }
    waiter?.resume()
  }

  /// Returns when the gate is open. For one task at a time.
  func pass() async {
    await withCheckedContinuation { waiter in
      let isThrough = state.withLock { state in
        if !state.isClosed || state.isEnded { return true }
        state.waiter = waiter
        return false
      }
      if isThrough { waiter.resume() }
    }
  }

  private static func takeWaiter(_ state: inout State) -> CheckedContinuation<Void, Never>? {
    let waiter = state.waiter
    state.waiter = nil
    return waiter
  }
}
