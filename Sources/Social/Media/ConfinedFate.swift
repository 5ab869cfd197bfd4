import CLinux
import Locking

/// Kills a confined process on cancellation, whether that comes before, during or after its run.
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

  /// Must be called before the pidfd is closed.
  func end() { state.withLock { $0.child = nil } }

  func kill() {
    state.withLock { state in
      state.isKilled = true
      if let child = state.child { fanmill_confine_kill(child) }
    }
  }
}
