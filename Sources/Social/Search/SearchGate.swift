import Locking

/// Lets a few searches run at once, and the others in turn, account by account.
///
/// A search keeps a processor of Postgres busy for a millisecond. More at once than it has processors are no faster
/// together, each of them takes longer, and so does all else that Postgres is asked.
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
