import DurableJobs
import Foundation
import Locking

/// A clock that only a test moves. Pass it to a worker's configuration, its broker and its client, and it moves all
/// their timers.
public final class ManualClock: WallClock {
  private struct State {
    var now: Date
    /// The latest time reached, the basis of `instant`.
    var furthest: Date
    var sleepers: [Int: (moment: Date, continuation: CheckedContinuation<Void, any Error>)] = [:]
    var next = 0
  }

  private let state: Locked<State>
  private let start: Date
  private let startInstant = ContinuousClock.now

  public init(startingAt now: Date) {
    start = now
    state = Locked(State(now: now, furthest: now))
  }

  /// - Parameter now: in ISO 8601 format.
  public convenience init(_ now: String = "2026-01-01T00:00:00Z") throws {
    self.init(startingAt: try Date(now, strategy: .iso8601))
  }

  public var now: Date { state.withLock { $0.now } }

  public var instant: ContinuousClock.Instant {
    startInstant + .seconds(state.withLock { $0.furthest }.timeIntervalSince(start))
  }

  /// The number of callers that are sleeping.
  public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  public func sleep(for duration: Duration) async throws { try await sleep(until: now + duration / .seconds(1)) }

  public func sleep(until moment: Date) async throws {
    let number = state.withLock { state in
      state.next += 1
      return state.next
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let outcome: Result<Void, any Error>? = state.withLock { state in
          if Task.isCancelled { return .failure(CancellationError()) }
          if moment <= state.now { return .success(()) }
          state.sleepers[number] = (moment, continuation)
          return nil
        }
        if let outcome { continuation.resume(with: outcome) }
      }
    } onCancel: {
      state.withLock { $0.sleepers.removeValue(forKey: number) }?.continuation.resume(throwing: CancellationError())
    }
  }

  /// Moves to a later or earlier moment, and wakes the callers whose moment has come.
  public func move(to moment: Date) {
    let woken = state.withLock { state in
      state.now = moment
      state.furthest = max(state.furthest, moment)
      let due = state.sleepers.filter { $0.value.moment <= moment }
      for number in due.keys { state.sleepers[number] = nil }
      return due.values.map(\.continuation)
    }
    for continuation in woken { continuation.resume() }
  }

  public func advance(by duration: Duration) { move(to: now + duration / .seconds(1)) }
}
