import DequeModule

/// Claims that have not begun, in the order in which they should.
///
/// A kind that runs in batches has one turn in that order, regardless of the number of its jobs; jobs left over by a
/// batch get another turn behind the others.
struct WaitingClaims {
  /// One claim, or the turn of a kind that runs in batches.
  private struct Turn {
    let claim: Claim?
    let kind: Int?
  }

  private let kinds: KindTable
  private var order: Deque<Turn> = []
  private var batches: [Deque<Claim>]
  /// The number of waiting claims.
  private(set) var count = 0
  /// Their payload bytes.
  private(set) var bytes = 0
  /// How many of the most recently added claims run in batches.
  private(set) var lastBatched = 0

  init(kinds: KindTable) {
    self.kinds = kinds
    batches = Array(repeating: [], count: kinds.count)
  }

  /// Adds claims in the order in which they should begin.
  mutating func add(_ claims: [Claim]) {
    if !claims.isEmpty { lastBatched = put(claims) }
  }

  /// Removes and returns the next item; a batch has at most its kind's limit and `PayloadLimit.batch` bytes.
  mutating func popFirst() -> WorkItem? {
    guard let turn = order.popFirst() else { return nil }
    if let claim = turn.claim {
      count -= 1
      bytes -= claim.record.payload.count
      return WorkItem(.single(claim), kind: turn.kind)
    }
    guard let kind = turn.kind else { return nil }
    let taken = batchCount(kind)
    let claims = Array(batches[kind].prefix(taken))
    batches[kind].removeFirst(taken)
    if !batches[kind].isEmpty { order.append(turn) }
    count -= taken
    for claim in claims { bytes -= claim.record.payload.count }
    return WorkItem(.batch(claims), kind: kind)
  }

  /// Removes the claims that `isMeant` selects; the rest keeps its order.
  mutating func remove(where isMeant: (Claim) -> Bool = { _ in true }) -> [Claim] {
    var all: [Claim] = []
    while let item = popFirst() { all += item.claims }
    put(all.filter { !isMeant($0) })
    return all.filter(isMeant)
  }

  /// All waiting claims.
  var claims: [Claim] {
    order.flatMap { turn -> [Claim] in
      if let claim = turn.claim { return [claim] }
      return turn.kind.map { Array(batches[$0]) } ?? []
    }
  }

  /// - Returns: the number of them that run in batches.
  @discardableResult
  private mutating func put(_ claims: [Claim]) -> Int {
    var batched = 0
    // Consecutive claims mostly have the same kind.
    var (last, place) = (JobKind?.none, Int?.none)
    for claim in claims {
      if claim.record.kind != last { (last, place) = (claim.record.kind, kinds.place(of: claim.record.kind)) }
      bytes += claim.record.payload.count
      if let kind = place, kinds[kind].batch != nil {
        if batches[kind].isEmpty { order.append(Turn(claim: nil, kind: kind)) }
        batches[kind].append(claim)
        batched += 1
      } else {
        order.append(Turn(claim: claim, kind: place))
      }
    }
    count += claims.count
    return batched
  }

  /// The number of a kind's jobs that make a batch: at most a batch's payload bytes, wherever they are stored, but at
  /// least one job.
  private func batchCount(_ kind: Int) -> Int {
    let (waiting, limit) = (batches[kind], kinds[kind].batch ?? 1)
    var (taken, bytes) = (0, 0)
    while taken < min(limit, waiting.count) {
      bytes += waiting[taken].record.payloadSize
      if taken > 0, bytes > PayloadLimit.batch { break }
      taken += 1
    }
    return taken
  }
}
