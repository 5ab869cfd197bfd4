/// All that one worker knows of one queue: what is claimed, what runs, what ended and is not settled yet, and why
/// nothing is claimed.
///
/// It decides and does nothing: each event changes it and returns what is to be done. `SharedQueueState` holds it under
/// one lock and acts. A claim passes through it like this, and leaves it exactly once:
///
///     received ─ claimed ─ waiting ─ taken by a processor ─ ended ─ settled
///                             │              │                └─ under way to ledger and broker
///                             │              └─ lost with its lease before it began
///                             └─ released: the queue is paused, the ledger is silent, the lease is lost, a stop
struct QueueState {
  /// What is to be done.
  enum Action: Sendable {
    /// The loop that claims can go on.
    case wakeClaimer
    /// The loop that settles can go on.
    case wakeSettler
    /// A processor can go on.
    case wake(processor: Int)
    /// The task of a processor is to be cancelled.
    case cancel(processor: Int)
    case broker(BrokerOrder)
  }

  /// What is asked of the broker, in this order.
  enum BrokerOrder: Sendable {
    /// The claim that waits is to end.
    case wakeClaim
    /// The claim that waits is to end, and every later one.
    case stopClaiming
    /// Claims go back; `released` or `notReleased` follows.
    case release([Claim])
  }

  /// What a processor does next.
  enum Turn: Sendable {
    case run(WorkItem)
    /// The broker has to know that the item begins before it does; `marked` follows.
    case mark(WorkItem)
    case wait
    /// Its task is cancelled: it goes on in a new one.
    case restart
    case stop
  }

  /// What the loop that claims does next.
  enum ClaimTurn: Sendable, Equatable {
    case claim(Int)
    case wait
    case stop
  }

  /// What the loop that settles does next.
  enum SettleTurn: Sendable {
    case settle([EndedClaim])
    case wait
    case stop
  }

  /// Why nothing is claimed.
  struct Holds: OptionSet, Sendable {
    let rawValue: Int
    /// An operator paused the queue, or quieted the worker.
    static let paused = Holds(rawValue: 1)
    /// The registry has not yet answered whether it is paused.
    static let unknown = Holds(rawValue: 2)
    /// The ledger is silent: what is claimed could not be done.
    static let silence = Holds(rawValue: 4)
  }

  /// How many jobs run at once.
  let concurrency: Int
  private let kinds: KindTable
  private(set) var holds: Holds
  /// Claimed, while the ledger is asked whether they are done already.
  private var received: [Claim] = []
  private var waiting: WaitingClaims
  private var processors: Processors
  /// How many jobs processors have taken.
  private var taken = 0
  private var unsettled = Unsettled()
  /// The consumer's life, as far as it is known: what it claimed in earlier ones is not its own any more.
  private var incarnation = 0
  /// On their way back to the broker, by receipt.
  private var returning: [String: Claim] = [:]
  private var pace: JobPace
  /// By the kinds' places.
  private var counts: [JobCounts]
  private var claimerWaits = false
  private var settlerWaits = false
  private var isStopping = false
  private var isOver = false

  /// - Parameters:
  ///   - assumed: how long a job is taken to last until one has ended.
  ///   - holds: why nothing is claimed at first.
  init(concurrency: Int, kinds: KindTable, assumed: Duration? = nil, holds: Holds = []) {
    self.concurrency = concurrency
    self.kinds = kinds
    self.holds = holds
    waiting = WaitingClaims(kinds: kinds)
    processors = Processors(count: concurrency)
    pace = JobPace(assumed: assumed)
    counts = Array(repeating: JobCounts(), count: kinds.count)
  }

  // MARK: Claims

  /// How many jobs to claim now.
  mutating func claimTurn() -> ClaimTurn {
    if isStopping { return .stop }
    if let room { return .claim(room) }
    claimerWaits = true
    return .wait
  }

  /// Claims arrived, and the ledger is asked which of them are done already.
  mutating func received(_ claims: [Claim]) { received = claims }

  /// Claims are to run, but for those of `done` jobs.
  mutating func claimed(_ claims: [Claim], done: Set<JobID> = []) -> [Action] {
    received = []
    var pending = claims
    if !done.isEmpty {
      let isDone = { (claim: Claim) in claim.record.isDurable && done.contains(claim.record.id) }
      unsettled.add(claims.filter(isDone), .acknowledge)
      pending.removeAll(where: isDone)
    }
    if isStopping || !holds.isEmpty { return release(pending) + wakeSettler() }
    // The lease may have ended while they were on their way, or while the ledger was asked.
    let lost = pending.filter { $0.incarnation < incarnation }
    if !lost.isEmpty { pending.removeAll { $0.incarnation < incarnation } }
    waiting.add(pending)
    return release(lost) + assign() + wakeSettler()
  }

  /// The consumer lives a new life: what it claimed in earlier ones and has not begun is not its own any more.
  ///
  /// - Returns: how many those are. They are handed back all the same, since no other consumer has those that were
  ///   claimed after the lease had ended.
  mutating func leaseLost(to incarnation: Int) -> (lost: Int, actions: [Action]) {
    self.incarnation = max(self.incarnation, incarnation)
    let lost = waiting.remove { $0.incarnation < incarnation }
    return (lost.count, release(lost) + wakeClaimer())
  }

  /// Claims are back at the broker.
  mutating func released(_ claims: [Claim]) {
    for claim in claims { returning[claim.receipt] = nil }
  }

  /// Claims could not be handed back. No other worker would get them while this one lives, so it tries again, with all
  /// else that is settled.
  mutating func notReleased(_ claims: [Claim]) -> [Action] {
    released(claims)
    unsettled.add(claims, .release)
    return wakeSettler()
  }

  // MARK: Processors

  /// What a processor does next, from `now` on.
  mutating func turn(of processor: Int, at now: Moment) -> Turn {
    if processors.isCutOff(processor) { return .restart }
    if let item = processors.item(of: processor) { return begin(item, processor, now) }
    if isStopping { return .stop }
    guard let item = waiting.popFirst() else {
      processors.wait(processor)
      return .wait
    }
    take(item, processor)
    return begin(item, processor, now)
  }

  /// The broker knows that an item begins.
  ///
  /// - Parameter own: the receipts of those of its claims that are still this worker's: the others are dropped. nil
  ///   where the broker could not be asked, and the item does not begin.
  mutating func marked(_ processor: Int, own: Set<String>?, at now: Moment) -> (turn: Turn, actions: [Action]) {
    guard let (item, _) = processors.clear(processor) else { return (turn(of: processor, at: now), []) }
    taken -= item.count
    if let own, let kept = own.count == item.count ? item : item.keeping(own) {
      take(kept, processor)
      processors.began(processor, at: now, deadline: deadline(of: kept, now), isMarked: true)
      return (.run(kept), wakeClaimer())
    }
    if own == nil { unsettled.add(item.claims, .release) }
    return (turn(of: processor, at: now), wakeSettler() + wakeClaimer())
  }

  /// A handler is over, and its outcome depends on why it was cancelled, if it was. Nothing cuts it off from now on.
  mutating func returned(_ processor: Int) -> Processors.Cutoff? { processors.returned(processor) }

  /// A processor's item ended.
  mutating func ended(_ processor: Int, _ outcomes: JobOutcomes, at now: Moment) -> [Action] {
    guard let (item, began) = processors.clear(processor) else { return [] }
    taken -= item.count
    if let began {
      let each = (now.instant - began.instant).nanoseconds / Int64(max(1, item.count))
      pace.note(each)
      item.forEach(outcomes) { claim, outcome in
        unsettled.add(claim, outcome)
        if let kind = item.kind { counts[kind].add(outcome, of: claim, began: began.milliseconds, run: each) }
      }
    }
    return wakeSettler() + wakeClaimer()
  }

  /// A processor goes on in a new task.
  mutating func restarted(_ processor: Int) { processors.restart(processor) }

  /// Whether a processor's task is to be cancelled. One that had just been started could not be.
  func isCutOff(_ processor: Int) -> Bool { processors.isCutOff(processor) }

  /// Cancels handlers that are past their limit.
  mutating func tick(_ now: ContinuousClock.Instant) -> [Action] {
    processors.cutOff(overdueAt: now).map { .cancel(processor: $0) }
  }

  /// Operators do not want these jobs any more: those that run are cancelled, the others never begin.
  mutating func cancel(_ ids: Set<JobID>) -> [Action] {
    let cut = processors.cutOff(running: ids)
    unsettled.add(waiting.remove { $0.record.isDurable && ids.contains($0.record.id) }, .cancel)
    return cut.map { .cancel(processor: $0) } + wakeSettler() + wakeClaimer()
  }

  // MARK: Settling

  /// What the loop that settles does now. The batch before is settled.
  mutating func settleTurn() -> (turn: SettleTurn, actions: [Action]) {
    let batch = unsettled.take()
    if !batch.isEmpty { return (.settle(batch), wakeClaimer()) }
    if isOver { return (.stop, []) }
    settlerWaits = true
    return (.wait, [])
  }

  // MARK: Holds

  /// Claims nothing, and gives back what has not begun.
  ///
  /// - Parameter former: reasons that this one takes the place of.
  /// - Returns: whether the reason is new.
  mutating func hold(_ reason: Holds, insteadOf former: Holds = []) -> (isNew: Bool, actions: [Action]) {
    let isNew = !holds.contains(reason)
    holds.formUnion(reason)
    holds.subtract(former)
    return (isNew, isNew ? [.broker(.wakeClaim)] + release(waiting.remove()) : [])
  }

  /// Claims again, unless another reason is left not to.
  ///
  /// - Returns: which of the reasons there were.
  mutating func lift(_ reasons: Holds) -> (lifted: Holds, actions: [Action]) {
    let lifted = holds.intersection(reasons)
    holds.subtract(reasons)
    return (lifted, wakeClaimer())
  }

  /// Whether the worker's lease may end: what runs cannot be ended while the ledger is silent, and a worker with a
  /// ledger gets it then.
  var letsLeaseEnd: Bool { holds.contains(.silence) && processors.isAnyRunning }

  // MARK: Stop

  /// Begins nothing more, and gives back what has not begun.
  mutating func stop() -> [Action] {
    if isStopping { return [] }
    isStopping = true
    var actions: [Action] = [.broker(.stopClaiming)] + release(waiting.remove())
    while let processor = processors.popWaiting() { actions.append(.wake(processor: processor)) }
    return actions + wakeClaimer()
  }

  /// Nothing runs any more: the loop that settles ends with what is left.
  mutating func finish() -> [Action] {
    isOver = true
    return wakeSettler()
  }

  // MARK: Reports

  /// What runs, each with when it began.
  var running: [(item: WorkItem, since: ContinuousClock.Instant)] { processors.running }

  /// What runs and is not marked as begun.
  var unmarked: [Processors.Unmarked] { processors.unmarked }

  mutating func mark(_ marked: [Processors.Unmarked]) { processors.mark(marked) }

  /// The receipts of all claims that are in here.
  var receipts: [String] {
    let claims = received + waiting.claims + processors.claims + unsettled.claims
    return claims.map(\.receipt) + returning.keys
  }

  /// What was done since the last call, by the kinds' places.
  mutating func takeCounts() -> [JobCounts] {
    let taken = counts
    counts = Array(repeating: JobCounts(), count: kinds.count)
    return taken
  }

  // MARK: Decisions

  /// How many jobs may be claimed; nil for none now.
  ///
  /// As much is claimed as the processors begin within a moment at the pace of late, and nothing beyond them where jobs
  /// are slow, so that no job waits behind a busy worker while another is idle.
  private var room: Int? {
    guard holds.isEmpty, unsettled.hasRoom, waiting.bytes < PayloadLimit.batch else { return nil }
    let ahead = pace.ahead(concurrency)
    // Room for batches is made where batches come: kinds that run one by one would only be kept from idle workers by
    // it.
    let base = max(concurrency, min(2 * waiting.lastBatched, kinds.twoBatches))
    let room = base + ahead - waiting.count - taken
    return room >= max(1, ahead / 2) ? room : nil
  }

  /// Gives what waits to the processors that wait.
  private mutating func assign() -> [Action] {
    var actions: [Action] = []
    while processors.isAnyWaiting, let item = waiting.popFirst(), let processor = processors.popWaiting() {
      take(item, processor)
      actions.append(.wake(processor: processor))
    }
    return actions
  }

  private mutating func take(_ item: WorkItem, _ processor: Int) {
    processors.take(item, by: processor)
    taken += item.count
  }

  private mutating func begin(_ item: WorkItem, _ processor: Int, _ now: Moment) -> Turn {
    if mustBeMarked(item) { return .mark(item) }
    processors.began(processor, at: now, deadline: deadline(of: item, now), isMarked: false)
    return .run(item)
  }

  /// Whether the broker must know that an item's jobs begin before they do: those that came back once, since they may
  /// be what killed a worker, and those on their last attempt, which must not be made twice.
  private func mustBeMarked(_ item: WorkItem) -> Bool {
    guard let kind = item.kind else { return false }
    let last = kinds[kind].maxAttempts
    return item.contains { $0.isRedelivered || $0.attempt > 1 || $0.attempt >= $0.record.maxAttempts ?? last }
  }

  private func deadline(of item: WorkItem, _ now: Moment) -> ContinuousClock.Instant? {
    guard let kind = item.kind.map({ kinds[$0] }) else { return nil }
    let own: Duration? = if case .single(let claim) = item.content { claim.record.timeout } else { nil }
    return (own ?? kind.timeout).map { now.instant + $0 }
  }

  private mutating func release(_ claims: [Claim]) -> [Action] {
    if claims.isEmpty { return [] }
    for claim in claims { returning[claim.receipt] = claim }
    return [.broker(.release(claims))]
  }

  private mutating func wakeClaimer() -> [Action] {
    guard claimerWaits, isStopping || room != nil else { return [] }
    claimerWaits = false
    return [.wakeClaimer]
  }

  private mutating func wakeSettler() -> [Action] {
    guard settlerWaits, isOver || !unsettled.isEmpty else { return [] }
    settlerWaits = false
    return [.wakeSettler]
  }
}
