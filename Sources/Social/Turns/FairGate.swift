import Locking

/// Limits how many callers work at once. The others wait, and clients take turns.
///
/// A wait has no timeout; cancel the task to end it.
public final class FairGate<Client: Hashable & Sendable>: Sendable {
  private let places: Locked<FairPlaces<Client, CheckedContinuation<Void, any Error>>>

  /// - Parameter width: how many callers work at once.
  public init(width: Int) {
    precondition(width > 0, "a gate lets somebody through")
    places = Locked(FairPlaces(width))
  }

  /// How many callers are waiting for their turn.
  var waiting: Int { places.withLock { $0.waiting } }

  /// A number for work with several consecutive steps. Among a client's waiting steps the lowest number is next, so
  /// work that began first ends first.
  public func number() -> Int { places.withLock { $0.nextNumber() } }

  /// Runs `body` when it is the client's turn.
  ///
  /// - Parameter number: from ``number()``; without one the client's calls run in order.
  /// - Throws: `CancellationError`, if the task is cancelled while it waits.
  public func pass<Result: Sendable>(
    for client: Client, number: Int? = nil, _ body: () async throws -> Result
  ) async throws -> Result {
    try await enter(for: client, number)
    defer { places.withLock { $0.leave() }?.resume() }
    return try await body()
  }

  private func enter(for client: Client, _ number: Int?) async throws {
    if places.withLock({ $0.take() }) { return }
    let number = number ?? places.withLock { $0.nextNumber() }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiter in
        let isFree = places.withLock { places in
          if places.take() { return true }
          places.wait(waiter, number, for: client)
          return false
        }
        if isFree { waiter.resume() } else if Task.isCancelled { giveUp(number) }
      }
    } onCancel: {
      giveUp(number)
    }
  }

  private func giveUp(_ number: Int) {
    places.withLock { $0.giveUp(number) }?.resume(throwing: CancellationError())
  }
}
