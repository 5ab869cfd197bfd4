import Locking

/// Keeps callers from waiting for a server that does not respond. After one caller times out, a single caller per
/// second retries, and the others skip the server.
///
/// Holds only the observed state and does no I/O; safe to share between tasks.
public final class CircuitBreaker: Sendable {
  /// The change that an outcome caused.
  public enum Change: Sendable {
    case opened
    case closed
  }

  private enum State {
    case closed
    /// One caller may retry from `retry` on.
    case open(retry: ContinuousClock.Instant)
  }

  private let interval: Duration
  private let state = Locked(State.closed)

  /// - Parameter interval: the time between two attempts while the server does not respond.
  public init(interval: Duration = .seconds(1)) { self.interval = interval }

  /// Whether the caller may ask the server now. An admitted caller must report the outcome with `succeeded` or
  /// `failed`.
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

  /// Records that the server responded.
  ///
  /// - Returns: `.closed` if the breaker was open.
  @discardableResult
  public func succeeded() -> Change? {
    state.withLock { state in
      guard case .open = state else { return nil }
      state = .closed
      return .closed
    }
  }

  /// Records that the server did not respond.
  ///
  /// - Returns: `.opened` if the breaker was closed.
  @discardableResult
  public func failed(at now: ContinuousClock.Instant = .now) -> Change? {
    state.withLock { [interval] state in
      let before = state
      state = .open(retry: now + interval)
      if case .closed = before { return .opened }
      return nil
    }
  }

  /// Whether the server is assumed to be down.
  public var isOpen: Bool {
    state.withLock { state in
      if case .open = state { true } else { false }
    }
  }
}
