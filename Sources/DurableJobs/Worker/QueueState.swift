/// One worker's view of one queue: claims that wait, run, or have ended and are not settled yet, and the reasons not to
/// claim.
///
/// It decides without I/O: each event changes it and returns the actions to perform. `SharedQueueState` guards it with
/// one lock and performs them. A claim takes this path, and leaves it exactly once:
///
///     received ─ claimed ─ waiting ─ taken by a processor ─ ended ─ settled
///                             │              │                └─ under way to ledger and broker
///                             │              └─ lost with its lease before it began
///                             └─ released: the queue is paused, the ledger is silent, the lease is lost, a stop
struct QueueState {
  /// An action to perform.
  enum Action: Sendable {
    /// The claim loop can continue.
    case wakeClaimer
    /// The settle loop can continue.
    case wakeSettler
    /// A processor can continue.
    case wake(processor: Int)
    /// Cancel a processor's task.
    case cancel(processor: Int)
    case broker(BrokerOrder)
  }

  /// A request to the broker, sent in this order.
  enum BrokerOrder: Sendable {
    /// End the waiting claim.
    case wakeClaim
    /// End the waiting claim and every later one.
    case stopClaiming
    /// Hand claims back; `released` or `notReleased` follows.
    case release([Claim])
  }

  /// A processor's next step.
  enum Turn: Sendable {
    case run(WorkItem)
    /// The broker must record that the item begins before it does; `marked` follows.
    case mark(WorkItem)
    case wait
    /// Its task is cancelled: it continues in a new one.
    case restart
    case stop
  }

  /// The claim loop's next step.
  enum ClaimTurn: Sendable, Equatable {
    case claim(Int)
    case wait
    case stop
  }

  /// The settle loop's next step.
  enum SettleTurn: Sendable {
    case settle([EndedClaim])
    case wait
    case stop
  }

  /// Reasons not to claim.
  struct Holds: OptionSet, Sendable {
    let rawValue: Int
    /// An operator paused the queue, or quieted the worker.
    static let paused = Holds(rawValue: 1)
    /// The registry has not answered yet whether the queue is paused.
    static let unknown = Holds(rawValue: 2)
    /// The ledger is silent: claimed jobs could not be ended.
    static let silence = Holds(rawValue: 4)
  }

  /// How many jobs run at once.
  let concurrency: Int
  private let kinds: KindTable
  private(set) var holds: Holds
  /// Claimed, while the ledger is asked whether they are already done.
  private var received: [Claim] = []
  private var waiting: WaitingClaims
  private var processors: Processors
  /// The number of jobs that processors have taken.
  private var taken = 0
  private var unsettled = Unsettled()
  /// The consumer's incarnation, as far as known: it no longer holds claims of earlier ones.
  private var incarnation = 0
  /// Claims on their way back to the broker, by receipt.
  private var returning: [String: Claim] = [:]
  private var pace: JobPace
  /// By kind index.
  private var counts: [JobCounts]
  private var claimerWaits = false
  private var settlerWaits = false
  private var isStopping = false
  private var isOver = false

  /// - Parameters:
  ///   - assumed: the assumed duration of a job until one has ended.
  ///   - holds: initial reasons not to claim.
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

  /// Claims arrived, and the ledger is asked which of them are already done.
  mutating func received(_ claims: [Claim]) { received = claims }

  /// Queues claims to run, except those of `done` jobs.
  mutating func claimed(_ claims: [Claim], done: Set<JobID> = []) -> [Action] {
    received = []
    var pending = claims
    if !done.isEmpty {
      let isDone = { (claim: Claim) in claim.record.isDurable && done.contains(claim.record.id) }
      unsettled.add(claims.filter(isDone), .acknowledge)
      pending.removeAll(where: isDone)
    }
    if isStopping || !holds.isEmpty { return release(pending) + wakeSettler() }
    // The lease may have expired while they were in flight, or while the ledger was asked.
    let lost = pending.filter { $0.incarnation < incarnation }
    if !lost.isEmpty { pending.removeAll { $0.incarnation < incarnation } }
    waiting.add(pending)
    return release(lost) + assign() + wakeSettler()
  }

  /// The consumer has a new incarnation: it no longer holds earlier claims that have not begun.
  ///
  /// - Returns: the number of lost claims. They are handed back anyway, since no other consumer has those claimed after
  ///   the lease expired.
  mutating func leaseLost(to incarnation: Int) -> (lost: Int, actions: [Action]) {
    self.incarnation = max(self.incarnation, incarnation)
    let lost = waiting.remove { $0.incarnation < incarnation }
    return (lost.count, release(lost) + wakeClaimer())
  }

  /// Claims were handed back.
  mutating func released(_ claims: [Claim]) {
    for claim in claims { returning[claim.receipt] = nil }
  }

  /// Claims could not be handed back. While this worker lives no other one would get them, so they are retried together
  /// with the next settlements.
  mutating func notReleased(_ claims: [Claim]) -> [Action] {
    released(claims)
    unsettled.add(claims, .release)
    return wakeSettler()
  }

  // MARK: Processors

  /// A processor's next step, as of `now`.
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

  /// The broker has recorded that an item begins.
  ///
  /// - Parameter own: the receipts of its claims that this worker still holds; the others are dropped. nil if the
  ///   broker did not answer, and then the item does not begin.
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

  /// A handler has returned: it can no longer be cut off. Its outcome depends on whether and why it was cancelled.
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

  /// A processor continues in a new task.
  mutating func restarted(_ processor: Int) { processors.restart(processor) }

  /// Whether a processor's task must be cancelled, for a task that was not yet stored when the action was performed.
  func isCutOff(_ processor: Int) -> Bool { processors.isCutOff(processor) }

  /// Cancels handlers that exceed their time limit.
  mutating func tick(_ now: ContinuousClock.Instant) -> [Action] {
    processors.cutOff(overdueAt: now).map { .cancel(processor: $0) }
  }

  /// An operator cancelled these jobs: running ones are cancelled, the others never begin.
  mutating func cancel(_ ids: Set<JobID>) -> [Action] {
    let cut = processors.cutOff(running: ids)
    unsettled.add(waiting.remove { $0.record.isDurable && ids.contains($0.record.id) }, .cancel)
    return cut.map { .cancel(processor: $0) } + wakeSettler() + wakeClaimer()
  }

  // MARK: Settling

  /// The settle loop's next step. The previous batch is settled.
  mutating func settleTurn() -> (turn: SettleTurn, actions: [Action]) {
    let batch = unsettled.take()
    if !batch.isEmpty { return (.settle(batch), wakeClaimer()) }
    if isOver { return (.stop, []) }
    settlerWaits = true
    return (.wait, [])
  }

  // MARK: Holds

  /// Stops claiming, and hands back claims that have not begun.
  ///
  /// - Parameter former: the reasons that this one replaces.
  /// - Returns: whether the reason is new.
  mutating func hold(_ reason: Holds, insteadOf former: Holds = []) -> (isNew: Bool, actions: [Action]) {
    let isNew = !holds.contains(reason)
    holds.formUnion(reason)
    holds.subtract(former)
    return (isNew, isNew ? [.broker(.wakeClaim)] + release(waiting.remove()) : [])
  }

  /// Resumes claiming, unless another reason remains.
  ///
  /// - Returns: the reasons that were lifted.
  mutating func lift(_ reasons: Holds) -> (lifted: Holds, actions: [Action]) {
    let lifted = holds.intersection(reasons)
    holds.subtract(reasons)
    return (lifted, wakeClaimer())
  }

  /// Whether to let the worker's lease expire: its running jobs cannot be ended while its ledger is silent, so a worker
  /// with a working ledger should get them.
  var letsLeaseEnd: Bool { holds.contains(.silence) && processors.isAnyRunning }

  // MARK: Stop

  /// Begins no more items, and hands back claims that have not begun.
  mutating func stop() -> [Action] {
    if isStopping { return [] }
    isStopping = true
    var actions: [Action] = [.broker(.stopClaiming)] + release(waiting.remove())
    while let processor = processors.popWaiting() { actions.append(.wake(processor: processor)) }
    return actions + wakeClaimer()
  }

  /// No item is running any more: the settle loop ends with the remaining claims.
  mutating func finish() -> [Action] {
    isOver = true
    return wakeSettler()
  }

  // MARK: Reports

  /// The running items, each with its start.
  var running: [(item: WorkItem, since: ContinuousClock.Instant)] { processors.running }

  /// The running items that are not marked as begun.
  var unmarked: [Processors.Unmarked] { processors.unmarked }

  mutating func mark(_ marked: [Processors.Unmarked]) { processors.mark(marked) }

  /// The receipts of all claims in this state.
  var receipts: [String] {
    let claims = received + waiting.claims + processors.claims + unsettled.claims
    return claims.map(\.receipt) + returning.keys
  }

  /// The counts since the last call, by kind index.
  mutating func takeCounts() -> [JobCounts] {
    let taken = counts
    counts = Array(repeating: JobCounts(), count: kinds.count)
    return taken
  }

  // MARK: Decisions

  /// How many jobs may be claimed; nil for none now.
  ///
  /// Claims ahead as many jobs as the processors will begin within a moment at the recent pace. Slow jobs are not
  /// claimed ahead, so that none waits behind a busy worker while another is idle.
  private var room: Int? {
    guard holds.isEmpty, unsettled.hasRoom, waiting.bytes < PayloadLimit.batch else { return nil }
    let ahead = pace.ahead(concurrency)
    // Extra room only if batched kinds arrive: jobs that run one by one would just be kept from idle workers.
    let base = max(concurrency, min(2 * waiting.lastBatched, kinds.twoBatches))
    let room = base + ahead - waiting.count - taken
    return room >= max(1, ahead / 2) ? room : nil
  }

  /// Gives waiting items to waiting processors.
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

  /// Whether the broker must record an item's start before it begins: for redelivered jobs, which may have killed a
  /// worker, and for jobs on their last attempt, which must not be repeated.
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
