/// Claims that ended, until ledger and broker have settled them. A batch holds all that ended while the previous one
/// was in flight.
struct Unsettled {
  /// Beyond this number no more jobs are claimed: while the ledger or the broker is unavailable, jobs should wait in
  /// the queue instead of a worker's memory.
  private static let maxPending = 5000
  private static let maxBytes = 4 * PayloadLimit.batch

  private var pending: [EndedClaim] = []
  /// The payload bytes that they hold.
  private var bytes = 0
  /// The last batch taken, in flight until the next one is taken.
  private var underWay: [EndedClaim] = []

  var isEmpty: Bool { pending.isEmpty }

  /// Whether there is room to claim more.
  var hasRoom: Bool { pending.count < Self.maxPending && bytes < Self.maxBytes }

  /// The pending ones and those in flight.
  var claims: [Claim] { (pending + underWay).map(\.claim) }

  mutating func add(_ claim: Claim, _ outcome: JobOutcome) {
    pending.append(EndedClaim(claim: claim, outcome: outcome))
    bytes += claim.record.payload.count
  }

  mutating func add(_ claims: [Claim], _ outcome: JobOutcome) {
    for claim in claims { add(claim, outcome) }
  }

  /// Takes all pending claims. The previous batch is settled.
  mutating func take() -> [EndedClaim] {
    underWay = pending
    (pending, bytes) = ([], 0)
    return underWay
  }
}
