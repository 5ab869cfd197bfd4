import Locking

/// How a claim ended: what ledger and broker have still to be told.
enum Settlement: Sendable {
  /// Nothing is owed any more.
  case acknowledge(Claim)
  /// Done, but the ledger still owes it.
  case complete(Claim)
  case retry(Claim, JobFailure, Duration)
  case bury(Claim, JobFailure)
  case park(Claim)
}

/// The settlements of one queue on their way to the one loop that settles, in batches as large as they gather while the
/// batch before is under way.
final class Settlements: Sendable {
  private struct State {
    var pending: [Settlement] = []
    var settler: CheckedContinuation<[Settlement]?, Never>?
    var isClosed = false
  }

  private let state = Locked(State())

  func add(_ settlement: Settlement) {
    let wake = state.withLock { state -> (CheckedContinuation<[Settlement]?, Never>, [Settlement])? in
      state.pending.append(settlement)
      guard let settler = state.settler else { return nil }
      state.settler = nil
      return (settler, Self.take(&state))
    }
    if let (settler, batch) = wake { settler.resume(returning: batch) }
  }

  /// All that has gathered; waits for something. Nil once closed and empty.
  func next() async -> [Settlement]? {
    await withCheckedContinuation { settler in
      let (isDecided, batch) = state.withLock { state -> (Bool, [Settlement]?) in
        if !state.pending.isEmpty { return (true, Self.take(&state)) }
        if state.isClosed { return (true, nil) }
        state.settler = settler
        return (false, nil)
      }
      if isDecided { settler.resume(returning: batch) }
    }
  }

  /// No more will come.
  func close() {
    let settler = state.withLock { state in
      state.isClosed = true
      let settler = state.settler
      state.settler = nil
      return settler
    }
    settler?.resume(returning: nil)
  }

  /// How many wait to be settled.
  var count: Int { state.withLock { $0.pending.count } }

  private static func take(_ state: inout State) -> [Settlement] {
    let taken = state.pending
    state.pending = []
    return taken
  }
}
