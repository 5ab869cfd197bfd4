import DequeModule

/// What is claimed and has not begun, in the order in which it should.
///
/// Kinds that run in batches have one turn in that order, however many of their jobs wait; what a batch leaves over
/// takes another turn behind the others.
struct WaitingClaims {
  /// One claim, or the turn of a kind that runs in batches.
  private struct Turn {
    let claim: Claim?
    let kind: Int?
  }

  private let kinds: KindTable
  private var order: Deque<Turn> = []
  private var batches: [Deque<Claim>]
  /// How many wait.
  private(set) var count = 0
  /// How many bytes of payloads wait.
  private(set) var bytes = 0
  /// How many of the claims that came last run in batches.
  private(set) var lastBatched = 0

  init(kinds: KindTable) {
    self.kinds = kinds
    batches = Array(repeating: [], count: kinds.count)
  }

  /// Adds claims in the order in which they should begin.
  mutating func add(_ claims: [Claim]) {
    if !claims.isEmpty { lastBatched = put(claims) }
  }

  /// Takes out what is next, a batch of no more than its kind's limit and `PayloadLimit.batch` bytes.
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

  /// Takes out what `isMeant`; the rest stays in its order.
  mutating func remove(where isMeant: (Claim) -> Bool = { _ in true }) -> [Claim] {
    var all: [Claim] = []
    while let item = popFirst() { all += item.claims }
    put(all.filter { !isMeant($0) })
    return all.filter(isMeant)
  }

  /// All that wait.
  var claims: [Claim] {
    order.flatMap { turn -> [Claim] in
      if let claim = turn.claim { return [claim] }
      return turn.kind.map { Array(batches[$0]) } ?? []
    }
  }

  /// - Returns: how many of them run in batches.
  @discardableResult
  private mutating func put(_ claims: [Claim]) -> Int {
    var batched = 0
    // Mostly one kind follows itself.
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

  /// How many of a kind's jobs make a batch: no more bytes than one has, wherever the payloads are, and one job at
  /// least.
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
