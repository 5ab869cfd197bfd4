import Locking

/// Counts a server's open connections, and refuses those beyond the limits.
final class ConnectionBook: Sendable {
  enum Refusal: Sendable {
    case full
    case tooManyOfClient
  }

  private struct State: Sendable {
    var total = 0
    /// The connections opened or closed since `takeChanged` last returned true.
    var changed = 0
    var clients: [String: Int] = [:]

    mutating func enter() {
      total += 1
      changed += 1
    }
  }

  private let limits: ConnectionLimits
  private let state = Locked(State())

  init(_ limits: ConnectionLimits) { self.limits = limits }

  /// Counts a connection, unless it is refused; `leave` releases its place.
  ///
  /// - Parameter client: nil for a proxy, which only the total limit bounds.
  func enter(_ client: String?) -> Refusal? {
    state.withLock { [limits] state in
      guard state.total < limits.total else { return .full }
      guard let client else {
        state.enter()
        return nil
      }
      let count = state.clients[client, default: 0]
      guard limits.perClient == 0 || count < limits.perClient else { return .tooManyOfClient }
      state.enter()
      state.clients[client] = count + 1
      return nil
    }
  }

  /// Whether at least `count` connections have opened or closed since this was last true.
  func takeChanged(atLeast count: Int) -> Bool {
    state.withLock { state in
      guard state.changed >= count else { return false }
      state.changed = 0
      return true
    }
  }

  func leave(_ client: String?) {
    state.withLock { state in
      state.total -= 1
      state.changed += 1
      guard let client else { return }
      guard let count = state.clients[client], count > 1 else {
        state.clients[client] = nil
        return
      }
      state.clients[client] = count - 1
    }
  }
}
