import Locking

/// Holds claims back for as long as there is a reason to claim nothing.
final class ClaimGate: Sendable {
  /// Why nothing is claimed.
  struct Reasons: OptionSet {
    let rawValue: Int
    /// An operator paused the queue, or quieted the worker.
    static let paused = Reasons(rawValue: 1)
    /// The registry has not yet answered whether it is paused.
    static let unknown = Reasons(rawValue: 2)
    /// The ledger is silent: what is claimed could not be done.
    static let silence = Reasons(rawValue: 4)
  }

  private struct State {
    var reasons: Reasons = []
    /// The worker stops: nobody waits any more.
    var isEnded = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state: Locked<State>

  /// - Parameter reasons: why it is closed at first.
  init(_ reasons: Reasons = []) { state = Locked(State(reasons: reasons)) }

  var reasons: Reasons { state.withLock { $0.reasons } }
  var isClosed: Bool { !reasons.isEmpty }

  /// Takes reasons away, then adds others.
  func change(remove: Reasons = [], add: Reasons = []) {
    let waiter = state.withLock { state in
      state.reasons.subtract(remove)
      state.reasons.formUnion(add)
      return state.reasons.isEmpty ? Self.takeWaiter(&state) : nil
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
        if state.reasons.isEmpty || state.isEnded { return true }
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
