import Locking

/// Keeps callers from waiting for a server that does not answer: after one of them has waited in vain, a single caller
/// a second asks again, and the others go without.
///
/// A value of what was seen, without I/O; safe to share between tasks.
public final class CircuitBreaker: Sendable {
  /// What an outcome changed.
  public enum Change: Sendable {
    case opened
    case closed
  }

  private enum State {
    case closed
    /// One caller may ask from `retry` on.
    case open(retry: ContinuousClock.Instant)
  }

  private let interval: Duration
  private let state = Locked(State.closed)

  /// - Parameter interval: between two attempts while the server does not answer.
  public init(interval: Duration = .seconds(1)) { self.interval = interval }

  /// Whether a caller may ask the server now. Who was let through says with `succeeded` or `failed` what came of it.
  public func admits(at now: ContinuousClock.Instant = .now) -> Bool {
    state.withLock { [interval] state in
      switch state {
      case .closed: return true
      case .open(let retry):
        guard now >= retry else { return false }
        state = .open(retry: now + interval)
        return true
      }
    }
  }

  /// The server answered.
  ///
  /// - Returns: `.closed` if it had not before.
  @discardableResult
  public func succeeded() -> Change? {
    state.withLock { state in
      guard case .open = state else { return nil }
      state = .closed
      return .closed
    }
  }

  /// The server did not answer.
  ///
  /// - Returns: `.opened` if it had before.
  @discardableResult
  public func failed(at now: ContinuousClock.Instant = .now) -> Change? {
    state.withLock { [interval] state in
      let before = state
      state = .open(retry: now + interval)
      if case .closed = before { return .opened }
      return nil
    }
  }

  /// Whether the server is thought to be away.
  public var isOpen: Bool {
    state.withLock { state in
      if case .open = state { true } else { false }
    }
  }
}
