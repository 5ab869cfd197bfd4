import DurableJobs
import Foundation
import Locking

/// A clock that moves only when a test moves it.
public final class ManualClock: WallClock {
  private struct State {
    var now: Date
    var sleepers: [Int: (moment: Date, continuation: CheckedContinuation<Void, any Error>)] = [:]
    var next = 0
  }

  private let state: Locked<State>

  /// - Parameter now: the time in ISO 8601.
  public init(_ now: String = "2026-01-01T00:00:00Z") throws {
    state = Locked(State(now: try Date(now, strategy: .iso8601)))
  }

  public var now: Date { state.withLock { $0.now } }

  /// The number of sleepers still waiting for their moment.
  public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

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

  /// Moves to another moment, later or earlier, and wakes the sleepers whose moment has come.
  public func move(to moment: Date) {
    let woken = state.withLock { state in
      state.now = moment
      let due = state.sleepers.filter { $0.value.moment <= moment }
      for number in due.keys { state.sleepers[number] = nil }
      return due.values.map(\.continuation)
    }
    for continuation in woken { continuation.resume() }
  }

  public func advance(by duration: Duration) { move(to: now + duration / .seconds(1)) }
}
