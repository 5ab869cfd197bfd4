import Locking

/// Limits how many searches run at once. The rest wait in a queue that serves accounts in turn.
///
/// A search takes a millisecond of processor time in Postgres. Running more at once than Postgres has processors raises
/// no throughput; it only slows every search, and every other query.
///
/// A search that waits has no time limit of its own: those that run end by their requests' deadlines, and one whose
/// deadline passed in the queue fails as soon as it asks Postgres.
public final class SearchGate: Sendable {
  private struct State {
    var free: Int
    var turns = FairQueue<Int, Int>()
    /// By number; who has given up is none of them any more.
    var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
    var lastNumber = 0

    mutating func takePlace() -> Bool {
      guard free > 0 else { return false }
      free -= 1
      return true
    }

    mutating func wait(_ waiter: CheckedContinuation<Void, any Error>, _ number: Int, for account: Int) {
      waiters[number] = waiter
      turns.append(number, for: account)
    }

    /// Hands a place on to whose turn it is.
    mutating func leave() -> CheckedContinuation<Void, any Error>? {
      while let number = turns.popFirst() {
        if let waiter = waiters.removeValue(forKey: number) { return waiter }
      }
      free += 1
      return nil
    }
  }

  private let state: Locked<State>

  /// - Parameter width: how many run at once.
  public init(width: Int = 3) {
    precondition(width > 0, "a gate lets somebody through")
    state = Locked(State(free: width))
  }

  /// How many wait for their turn.
  var waiting: Int { state.withLock { $0.waiters.count } }

  /// Runs `body` when it is the account's turn.
  ///
  /// - Throws: `CancellationError`, if the task is cancelled while it waits.
  public func pass<Result: Sendable>(
    for account: Int, _ body: () async throws -> Result
  ) async throws -> Result {
    try await enter(for: account)
    defer { state.withLock { $0.leave() }?.resume() }
    return try await body()
  }

  private func enter(for account: Int) async throws {
    if state.withLock({ $0.takePlace() }) { return }
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiter in
        let isFree = state.withLock { state in
          if state.takePlace() { return true }
          state.wait(waiter, number, for: account)
          return false
        }
        if isFree { waiter.resume() } else if Task.isCancelled { giveUp(number) }
      }
    } onCancel: {
      giveUp(number)
    }
  }

  private func giveUp(_ number: Int) {
    state.withLock { $0.waiters.removeValue(forKey: number) }?.resume(throwing: CancellationError())
  }
}
