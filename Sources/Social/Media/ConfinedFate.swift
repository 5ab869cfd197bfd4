import CLinux
import Locking

/// Kills a confined process on a cancellation that comes before it runs, while it runs or after it ended.
final class ConfinedFate: Sendable {
  private struct State {
    var isKilled = false
    /// The pidfd, while it is open.
    var child: Int32?
  }

  private let state = Locked(State())

  func begin(_ child: Int32) {
    state.withLock { state in
      state.child = child
      if state.isKilled { fanmill_confine_kill(child) }
    }
  }

  /// The pidfd is about to be closed.
  func end() { state.withLock { $0.child = nil } }

  func kill() {
    state.withLock { state in
      state.isKilled = true
      if let child = state.child { fanmill_confine_kill(child) }
    }
  }
}
