import Locking

/// A stop that is requested once and seen by all waiters.
final class StopSignal: Sendable {
  private struct State {
    var isStopping = false
    var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    var next = 0
  }

  private let state = Locked(State())

  var isStopping: Bool { state.withLock { $0.isStopping } }

  func stop() {
    let waiters = state.withLock { state in
      state.isStopping = true
      let waiters = Array(state.waiters.values)
      state.waiters = [:]
      return waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Returns when the stop is requested or the waiting task is cancelled.
  func wait() async {
    let number = state.withLock { state in
      state.next += 1
      return state.next
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        let isDecided = state.withLock { state in
          if state.isStopping || Task.isCancelled { return true }
          state.waiters[number] = waiter
          return false
        }
        if isDecided { waiter.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
    }
  }
}
