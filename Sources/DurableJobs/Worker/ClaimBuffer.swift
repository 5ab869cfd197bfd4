import DequeModule
import Locking

/// What a slot runs next.
enum WorkItem: Sendable {
  case single(Claim)
  /// Jobs of one kind that run in one transaction.
  case batch([Claim])

  /// The kind of its jobs; nil if it holds none.
  var kind: JobKind? {
    switch self {
    case .single(let claim): claim.record.kind
    case .batch(let claims): claims.first?.record.kind
    }
  }

  var claims: [Claim] {
    switch self {
    case .single(let claim): [claim]
    case .batch(let claims): claims
    }
  }

  /// Whether `isSuch` holds for any of its claims.
  func contains(where isSuch: (Claim) -> Bool) -> Bool {
    switch self {
    case .single(let claim): isSuch(claim)
    case .batch(let claims): claims.contains(where: isSuch)
    }
  }

  var count: Int {
    switch self {
    case .single: 1
    case .batch(let claims): claims.count
    }
  }
}

/// The claims of one queue between the loop that claims and the slots that run them.
///
/// It decides how far to claim ahead: as much as the slots start within `lookahead` at the pace of late, and nothing
/// beyond the slots where jobs are slow, so that a job never waits behind a busy worker while another is idle.
final class ClaimBuffer: Sendable {
  private struct State {
    var order: Deque<Entry> = []
    var batches: [JobKind: Deque<Claim>] = [:]
    var buffered = 0
    /// How many bytes of payloads wait here.
    var bytes = 0
    var running = 0
    var idleSlots: Deque<(slot: Int?, waiter: CheckedContinuation<WorkItem?, Never>)> = []
    /// What each slot has taken and not finished. An item is here from the moment it leaves the buffer until its
    /// settlement is known, so that a claim of this worker is never in no place.
    var inHands: [WorkItem?]
    var claimer: CheckedContinuation<Int, Never>?
    var isClosed = false
    /// Seconds a job takes, as a moving average; nil before the first has ended.
    var secondsPerJob: Double?
    /// How many of the claims that came last run in batches.
    var lastBatched = 0
  }

  private enum Entry {
    case single(Claim)
    case batch(JobKind)
  }

  private let state: Locked<State>
  private let slots: Int
  private let batchLimits: [JobKind: Int]
  /// As many jobs as two batches of the largest kind hold.
  private let twoBatches: Int
  private let lookahead = 0.010
  private let maxAhead = 1000

  /// - Parameters:
  ///   - batchLimits: the size of a batch, for the kinds that run in batches.
  ///   - assumed: how long a job is taken to last until one has ended.
  init(slots: Int, batchLimits: [JobKind: Int], assumed: Duration? = nil) {
    self.slots = slots
    state = Locked(
      State(inHands: Array(repeating: nil, count: slots), secondsPerJob: assumed.map { $0 / .seconds(1) }))
    self.batchLimits = batchLimits
    twoBatches = 2 * (batchLimits.values.max() ?? 0)
  }

  /// Adds claims in the order in which they should start.
  func add(_ claims: [Claim]) {
    let wakes = state.withLock { state -> [(CheckedContinuation<WorkItem?, Never>, WorkItem)] in
      put(claims, &state)
      if !claims.isEmpty { state.lastBatched = claims.count { batchLimits[$0.record.kind] != nil } }
      var wakes: [(CheckedContinuation<WorkItem?, Never>, WorkItem)] = []
      while !state.idleSlots.isEmpty, let item = pop(&state) {
        let idle = state.idleSlots.removeFirst()
        if let slot = idle.slot { state.inHands[slot] = item }
        wakes.append((idle.waiter, item))
      }
      return wakes
    }
    for (slot, item) in wakes { slot.resume(returning: item) }
  }

  /// The next thing to run; waits for it. Nil once the buffer is closed.
  ///
  /// - Parameter slot: in whose hands it is until `finished`.
  func next(for slot: Int? = nil) async -> WorkItem? {
    // The usual case under load takes no suspension.
    if let item = state.withLock({ $0.isClosed ? nil : take(for: slot, &$0) }) { return item }
    return await withCheckedContinuation { waiter in
      let (isDecided, item) = state.withLock { state -> (Bool, WorkItem?) in
        if state.isClosed { return (true, nil) }
        if let item = take(for: slot, &state) { return (true, item) }
        state.idleSlots.append((slot, waiter))
        return (false, nil)
      }
      if isDecided { waiter.resume(returning: item) }
    }
  }

  /// Notes that an item has been run and settled, in `seconds`; nil where it was not run after all.
  func finished(_ count: Int, seconds: Double?, by slot: Int? = nil) {
    let wake = state.withLock { state -> (CheckedContinuation<Int, Never>, Int)? in
      state.running -= count
      if let slot { state.inHands[slot] = nil }
      guard let seconds else { return claimerToWake(&state) }
      let each = seconds / Double(max(count, 1))
      // A slow job counts at once, so that the next claim does not pile jobs up behind it; fast ones must prove
      // themselves.
      let old = state.secondsPerJob ?? each
      state.secondsPerJob = each > old ? old + (each - old) * 0.25 : old + (each - old) * 0.05
      return claimerToWake(&state)
    }
    if let (claimer, room) = wake { claimer.resume(returning: room) }
  }

  /// The receipts of what waits here or is in the hands of slots.
  var receipts: [String] {
    state.withLock { state in
      let waiting = state.order.flatMap { entry -> [String] in
        switch entry {
        case .single(let claim): [claim.receipt]
        case .batch(let kind): state.batches[kind]?.map(\.receipt) ?? []
        }
      }
      return waiting + state.inHands.flatMap { $0?.claims.map(\.receipt) ?? [] }
    }
  }

  /// Whether the claimer waits for room.
  var isFull: Bool { state.withLock { $0.claimer != nil } }

  /// How many jobs to claim next; waits until there is room. 0 once the buffer is closed.
  func room() async -> Int {
    await withCheckedContinuation { claimer in
      let room = state.withLock { state -> Int? in
        if state.isClosed { return 0 }
        if let room = roomNow(state) { return room }
        state.claimer = claimer
        return nil
      }
      if let room { claimer.resume(returning: room) }
    }
  }

  /// Takes out what has not begun of earlier lives of the consumer, because it is somebody else's now.
  ///
  func drop(olderThan incarnation: Int) -> [Claim] { takeBack { $0.incarnation < incarnation } }

  /// Takes out what has not begun and `isMeant`.
  func takeBack(where isMeant: (Claim) -> Bool = { _ in true }) -> [Claim] {
    let (dropped, wake) = state.withLock { state in
      let all = drain(&state)
      put(all.filter { !isMeant($0) }, &state)
      return (all.filter(isMeant), claimerToWake(&state))
    }
    if let (claimer, room) = wake { claimer.resume(returning: room) }
    return dropped
  }

  /// Ends everybody's wait and takes out all that has not begun.
  func close() -> [Claim] {
    let (dropped, slots, claimer) = state.withLock { state in
      state.isClosed = true
      let idle = state.idleSlots
      state.idleSlots = []
      let claimer = state.claimer
      state.claimer = nil
      return (drain(&state), idle, claimer)
    }
    for idle in slots { idle.waiter.resume(returning: nil) }
    claimer?.resume(returning: 0)
    return dropped
  }

  // MARK: Under the lock

  private func put(_ claims: [Claim], _ state: inout State) {
    state.buffered += claims.count
    for claim in claims {
      state.bytes += claim.record.payload.count
      let kind = claim.record.kind
      if batchLimits[kind] != nil {
        if state.batches[kind, default: []].isEmpty { state.order.append(.batch(kind)) }
        state.batches[kind, default: []].append(claim)
      } else {
        state.order.append(.single(claim))
      }
    }
  }

  private func take(for slot: Int?, _ state: inout State) -> WorkItem? {
    guard let item = pop(&state) else { return nil }
    if let slot { state.inHands[slot] = item }
    return item
  }

  private func pop(_ state: inout State) -> WorkItem? {
    guard let entry = state.order.popFirst() else { return nil }
    switch entry {
    case .single(let claim):
      state.buffered -= 1
      state.running += 1
      state.bytes -= claim.record.payload.count
      return .single(claim)
    case .batch(let kind):
      var waiting = state.batches.removeValue(forKey: kind) ?? []
      let count = Self.batchCount(waiting, limit: batchLimits[kind] ?? 1)
      let claims = Array(waiting.prefix(count))
      waiting.removeFirst(count)
      for claim in claims { state.bytes -= claim.record.payload.count }
      state.batches[kind] = waiting
      if state.batches[kind]?.isEmpty == false { state.order.append(.batch(kind)) }
      state.buffered -= count
      state.running += count
      return .batch(claims)
    }
  }

  /// How many of the jobs that wait make a batch: no more bytes than one has, wherever the payloads are, and one job at
  /// least.
  private static func batchCount(_ waiting: Deque<Claim>, limit: Int) -> Int {
    var (count, bytes) = (0, 0)
    while count < min(limit, waiting.count) {
      bytes += waiting[count].record.payloadSize
      if count > 0, bytes > PayloadLimit.batch { break }
      count += 1
    }
    return count
  }

  private func drain(_ state: inout State) -> [Claim] {
    var claims: [Claim] = []
    while let item = pop(&state) {
      claims += item.claims
      state.running -= item.count
    }
    return claims
  }

  private func roomNow(_ state: State) -> Int? {
    if state.bytes >= PayloadLimit.batch { return nil }
    // Before it is known how long jobs take nothing waits behind them: another worker may be idle.
    let pace = state.secondsPerJob.map { Double(slots) * lookahead / max($0, 1e-7) } ?? 0
    let ahead = Int(min(pace, Double(maxAhead)))
    // Room for batches is made where batches come: kinds that run one by one would only be kept from idle workers by
    // it.
    let base = max(slots, min(2 * state.lastBatched, twoBatches))
    let room = base + ahead - state.buffered - state.running
    return room >= max(1, ahead / 2) ? room : nil
  }

  private func claimerToWake(_ state: inout State) -> (CheckedContinuation<Int, Never>, Int)? {
    guard let claimer = state.claimer, let room = roomNow(state) else { return nil }
    state.claimer = nil
    return (claimer, room)
  }
}
