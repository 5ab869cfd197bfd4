import Locking

/// How a claim ended: what ledger and broker have still to be told.
enum Settlement: Sendable {
  /// Nothing is pending any more.
  case acknowledge(Claim)
  /// Done, but the ledger still owes it.
  case complete(Claim)
  case retry(Claim, JobFailure, Duration)
  case deadLetter(Claim, JobFailure)
  case park(Claim)
  /// Nobody wants it any more.
  case cancel(Claim)
  /// Somebody else may have it; the attempt does not count.
  case release(Claim)
  /// It could not be run just now: it comes back after a pause, and the attempt does not count.
  case handBack(Claim)

  var claim: Claim {
    switch self {
    case .acknowledge(let claim), .complete(let claim), .park(let claim), .cancel(let claim), .release(let claim),
      .handBack(let claim), .retry(let claim, _, _), .deadLetter(let claim, _):
      claim
    }
  }

  /// The same without a payload that the ledger has.
  var carried: Settlement {
    let claim = claim.with(claim.record.carried)
    return switch self {
    case .acknowledge: .acknowledge(claim)
    case .complete: .complete(claim)
    case .retry(_, let failure, let delay): .retry(claim, failure, delay)
    case .deadLetter(_, let failure): .deadLetter(claim, failure)
    case .park: .park(claim)
    case .cancel: .cancel(claim)
    case .release: .release(claim)
    case .handBack: .handBack(claim)
    }
  }
}

/// The settlements of one queue on their way to the one loop that settles, in batches as large as they gather while the
/// batch before is under way.
final class Settlements: Sendable {
  private struct State {
    var pending: [Settlement] = []
    /// How many bytes of payloads they hold.
    var bytes = 0
    /// What the settler was given last: it is under way until it comes for more.
    var underWay: [Settlement] = []
    var settler: CheckedContinuation<Void, Never>?
    var claimer: CheckedContinuation<Void, Never>?
    var isClosed = false
    var isStopping = false
    var tally: JobTally
  }

  /// Beyond so many that wait, no more is claimed: while the ledger or the broker is away, jobs wait better in the
  /// queue than in a worker's memory.
  private let most = 5000
  private let maxBytes = 4 * PayloadLimit.batch

  private let state: Locked<State>
  private let kinds: Int

  /// - Parameter kinds: how many places the tally has.
  init(kinds: Int = 0) {
    self.kinds = kinds
    state = Locked(State(tally: JobTally(kinds: kinds)))
  }

  /// - Parameter entry: what it adds to the tally, under the one lock that it takes anyway.
  func add(_ settlement: Settlement, _ entry: JobTally.Entry? = nil) {
    let settler = state.withLock { state in
      state.pending.append(settlement)
      state.bytes += settlement.claim.record.payload.count
      if let entry { state.tally.add(entry) }
      return Self.takeSettler(&state)
    }
    settler?.resume()
  }

  /// All that has gathered; waits for something. Nil once closed and empty.
  ///
  /// The batch is taken when the settler runs again, not when the first settlement wakes it: what gathers in between
  /// goes along.
  func next() async -> [Settlement]? {
    while true {
      let (batch, isClosed, claimer) = state.withLock { state in
        if state.pending.isEmpty {
          state.underWay = []
          return ([Settlement](), state.isClosed, CheckedContinuation<Void, Never>?.none)
        }
        let claimer = state.claimer
        state.claimer = nil
        return (Self.take(&state), false, claimer)
      }
      claimer?.resume()
      if !batch.isEmpty { return batch }
      if isClosed { return nil }
      await withCheckedContinuation { settler in
        let isDecided = state.withLock { state in
          if !state.pending.isEmpty || state.isClosed { return true }
          state.settler = settler
          return false
        }
        if isDecided { settler.resume() }
      }
    }
  }

  /// Returns when few enough wait to be settled that more may be claimed, or when the worker stops.
  func room() async {
    await withCheckedContinuation { claimer in
      let isRoom = state.withLock { state in
        if state.isStopping || state.pending.count < most && state.bytes < maxBytes { return true }
        state.claimer = claimer
        return false
      }
      if isRoom { claimer.resume() }
    }
  }

  /// The claims whose settlements wait or are under way.
  var claims: [Claim] { state.withLock { ($0.pending + $0.underWay).map(\.claim) } }

  /// What was counted since the last call, by the kind's place.
  func takeTally() -> [JobCounts] {
    state.withLock { state in
      let counts = state.tally.counts
      state.tally = JobTally(kinds: kinds)
      return counts
    }
  }

  /// Ends the wait for room, now and later: no more is claimed.
  func stopClaims() {
    let claimer = state.withLock { state in
      state.isStopping = true
      let claimer = state.claimer
      state.claimer = nil
      return claimer
    }
    claimer?.resume()
  }

  /// No more will come.
  func close() {
    let settler = state.withLock { state in
      state.isClosed = true
      return Self.takeSettler(&state)
    }
    settler?.resume()
  }

  private static func takeSettler(_ state: inout State) -> CheckedContinuation<Void, Never>? {
    let settler = state.settler
    state.settler = nil
    return settler
  }

  private static func take(_ state: inout State) -> [Settlement] {
    let taken = state.pending
    (state.pending, state.bytes) = ([], 0)
    state.underWay = taken
    return taken
  }
}
