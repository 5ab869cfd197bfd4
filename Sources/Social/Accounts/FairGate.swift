import Locking

/// Limits how many statements that take much processor time run at once. The rest wait in a queue that serves clients
/// in turn.
///
/// A search takes a millisecond of a processor in Postgres, a page of a feed half of one. Running more at once than
/// Postgres has processors raises no throughput; it only slows each of them, and all other queries: sixteen feeds at once
/// had a p99 of 28 ms, three at once of 13.
///
/// What waits has no time limit of its own: those that run end by their requests' deadlines, and one whose deadline
/// passed in the queue fails as soon as it asks Postgres.
public final class FairGate<Client: Hashable & Sendable>: Sendable {
  private struct State {
    var free: Int
    var turns = FairQueue<Client, Int>()
    /// By number; who has given up is none of them any more.
    var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
    var lastNumber = 0

    mutating func takePlace() -> Bool {
      guard free > 0 else { return false }
      free -= 1
      return true
    }

    mutating func wait(_ waiter: CheckedContinuation<Void, any Error>, _ number: Int, for client: Client) {
      waiters[number] = waiter
      turns.append(number, for: client)
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
  public init(width: Int) {
    precondition(width > 0, "a gate lets somebody through")
    state = Locked(State(free: width))
  }

  /// How many wait for their turn.
  var waiting: Int { state.withLock { $0.waiters.count } }

  /// Runs `body` when it is the client's turn.
  ///
  /// - Throws: `CancellationError`, if the task is cancelled while it waits.
  public func pass<Result: Sendable>(
    for client: Client, _ body: () async throws -> Result
  ) async throws -> Result {
    try await enter(for: client)
    defer { state.withLock { $0.leave() }?.resume() }
    return try await body()
  }

  private func enter(for client: Client) async throws {
    if state.withLock({ $0.takePlace() }) { return }
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiter in
        let isFree = state.withLock { state in
          if state.takePlace() { return true }
          state.wait(waiter, number, for: client)
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
