/// Claims that ended, until ledger and broker have them settled: in batches as large as they gather while the batch
/// before is under way.
struct Unsettled {
  /// Beyond so many no more is claimed: while the ledger or the broker is away, jobs wait better in the queue than in a
  /// worker's memory.
  private static let maxPending = 5000
  private static let maxBytes = 4 * PayloadLimit.batch

  private var pending: [EndedClaim] = []
  /// How many bytes of payloads they hold.
  private var bytes = 0
  /// The batch that was taken last: it is under way until the next one is taken.
  private var underWay: [EndedClaim] = []

  var isEmpty: Bool { pending.isEmpty }

  /// Whether few enough wait that more may be claimed.
  var hasRoom: Bool { pending.count < Self.maxPending && bytes < Self.maxBytes }

  /// Those that wait and those that are under way.
  var claims: [Claim] { (pending + underWay).map(\.claim) }

  mutating func add(_ claim: Claim, _ outcome: JobOutcome) {
    pending.append(EndedClaim(claim: claim, outcome: outcome))
    bytes += claim.record.payload.count
  }

  mutating func add(_ claims: [Claim], _ outcome: JobOutcome) {
    for claim in claims { add(claim, outcome) }
  }

  /// Takes all that has gathered. The batch before is settled.
  mutating func take() -> [EndedClaim] {
    underWay = pending
    (pending, bytes) = ([], 0)
    return underWay
  }
}
