import Locking
import Logging
import Metrics

/// Runs what slots take and says how each claim ended.
struct JobExecutor<B: Broker, L: Ledger>: Sendable {
  /// How an item's claims ended, before it is known whether a time limit cut them off.
  struct Report: Sendable {
    var settlements: [Settlement] = []
    var failures: [(claim: Claim, error: any Error)] = []
    /// Whether claims hold payloads that were read from the ledger.
    var holdsPayloads = false

    /// What waits to be settled does not keep payloads that the ledger has.
    mutating func dropPayloads() {
      settlements = settlements.map { $0.carried }
      failures = failures.map { claim, error in (claim.with(claim.record.carried), error) }
    }
  }

  /// A kind that can run here. A class, so that a job copies a reference and not closures, names and policies.
  fileprivate final class Known: Sendable {
    let entry: JobRegistry<L>.Entry
    let metrics: JobMetrics
    /// Its place in the tally.
    let place: Int
    /// After which a job that fails is dead.
    let lastAttempt: Int

    init(entry: JobRegistry<L>.Entry, metrics: JobMetrics, place: Int) {
      self.entry = entry
      self.metrics = metrics
      self.place = place
      lastAttempt = entry.retry.maxAttempts
    }
  }

  /// An item and its kind, which is looked up once for all that is done with it.
  struct Assignment: Sendable {
    let item: WorkItem
    fileprivate let known: Known?

    /// How long its handler may take; nil for as long as it likes.
    var limit: Duration? { known?.entry.timeout }

    /// Whether the broker must know that its jobs begin before they do: those that came back once, since they may be
    /// what killed a worker, and those on their last attempt, which must not be made twice.
    var mustBeMarked: Bool {
      guard let last = known?.lastAttempt else { return false }
      return item.contains { $0.isRedelivered || $0.attempt > 1 || $0.attempt >= last }
    }

    /// The same without claims that are not the worker's any more; nil where none is left.
    func keeping(_ receipts: Set<String>) -> Assignment? {
      let kept = item.claims.filter { receipts.contains($0.receipt) }
      guard let first = kept.first else { return nil }
      switch item {
      case .single: return Assignment(item: .single(first), known: known)
      case .batch: return Assignment(item: .batch(kept), known: known)
      }
    }
  }

  private let queue: QueueName
  private let worker: String
  private let known: [JobKind: Known]
  private let client: JobClient<B, L>
  private let settlements: Settlements
  /// `run` it beside the slots.
  let payloads: PayloadReads<L>
  private let logger: Logger

  init(
    queue: QueueName, worker: String, registry: JobRegistry<L>, client: JobClient<B, L>,
    settlements: Settlements, logger: Logger
  ) {
    self.queue = queue
    self.worker = worker
    self.client = client
    self.settlements = settlements
    payloads = PayloadReads(ledger: client.ledger, queue: queue)
    self.logger = logger
    var known: [JobKind: Known] = [:]
    for (place, kind) in registry.kinds.enumerated() {
      known[kind] = registry.entries[kind].map { entry in
        Known(entry: entry, metrics: JobMetrics(queue: queue, kind: kind, isAtHome: entry.queue == queue), place: place)
      }
    }
    self.known = known
  }

  func assignment(_ item: WorkItem) -> Assignment { Assignment(item: item, known: item.kind.flatMap { known[$0] }) }

  func run(_ assignment: Assignment) async -> Report {
    var report = Report()
    switch assignment.item {
    case .single(let claim):
      guard let entry = admit(claim, assignment.known, &report) else { break }
      if claim.record.payloadInLedger == nil {
        await runSingle(claim, entry, &report)
      } else {
        for claim in await filled([claim], &report) { await runSingle(claim, entry, &report) }
      }
    case .batch(let claims):
      let admitted = claims.filter { admit($0, assignment.known, &report) != nil }
      guard let entry = assignment.known?.entry, !admitted.isEmpty else { break }
      let (unfilled, again) = Self.once(admitted)
      let once = await filled(unfilled, &report)
      switch entry.handler {
      case .single: break
      case .batch(_, let handler): await runBatch(once[...], entry, handler, &report)
      case .openBatch(_, let handler): await runOpenBatch(once, handler, &report)
      }
      // Two deliveries of one job: the one that ran stands for both.
      report.settlements += again.map { .acknowledge($0) }
    }
    if report.holdsPayloads { report.dropPayloads() }
    return report
  }

  /// How long an item took, for the tally.
  struct Timing: Sendable {
    /// Milliseconds since 1970.
    var began: Int64
    /// Each job's part of the item's time, in nanoseconds.
    var run: Int64
  }

  /// Settles an item. A handler that a shutdown cancelled is left as it is: it has not failed, and leaving the queue
  /// hands it back.
  func settle(_ report: Report, of assignment: Assignment, _ cutoff: Slots.Cutoff?, _ timing: Timing) {
    let known = assignment.known
    for settlement in report.settlements {
      switch settlement {
      case .acknowledge(let claim):
        if case .unwanted(let ids) = cutoff, ids.contains(claim.record.id) {
          // Somebody ended it meanwhile, as was wanted, or it was faster: either way nothing is pending.
          settlements.add(.cancel(claim))
        } else {
          settlements.add(settlement, tally(claim, known, .completed, timing))
        }
      case .complete(let claim): settlements.add(settlement, tally(claim, known, .completed, timing))
      case .deadLetter(let claim, _): settlements.add(settlement, tally(claim, known, .dead, timing))
      default: settlements.add(settlement)
      }
    }
    for (claim, error) in report.failures {
      switch cutoff {
      case .unwanted(let ids):
        // Its neighbours in a batch have not failed.
        let isUnwanted = ids.contains(claim.record.id)
        if isUnwanted {
          logger.notice("a job was cancelled, since nobody wants it any more", metadata: metadata(claim, [:]))
        }
        settlements.add(isUnwanted ? .cancel(claim) : .release(claim))
      case .timeLimit:
        let text = "it ran longer than its limit of \(assignment.limit ?? .zero) and was cancelled"
        fail(claim, known, text, isFinal: false, timing)
      case nil:
        if Task.isCancelled { continue }
        if let error = error as? any JobHandback, error.handsJobBack {
          logger.info(
            "the job is handed back and no attempt counted", metadata: metadata(claim, [LogKeys.error: "\(error)"]))
          settlements.add(.handBack(claim))
        } else {
          fail(claim, known, "\(error)", isFinal: error is PayloadError, timing)
        }
      }
    }
  }

  private func fail(_ claim: Claim, _ known: Known?, _ text: String, isFinal: Bool, _ timing: Timing) {
    let settlement = failure(of: claim, known, text, isFinal: isFinal)
    if case .deadLetter = settlement {
      settlements.add(settlement, tally(claim, known, .dead, timing))
    } else {
      settlements.add(settlement, tally(claim, known, .failed, timing))
    }
  }

  /// Counts an attempt.
  private func tally(
    _ claim: Claim, _ known: Known?, _ outcome: JobTally.Outcome, _ timing: Timing
  ) -> JobTally.Entry? {
    guard let known else { return nil }
    let entry = JobTally.Entry(
      kind: known.place, outcome: outcome, run: timing.run, wait: max(0, timing.began - claim.readyAt) * 1_000_000)
    known.metrics.ended(entry)
    if outcome == .completed { logger.debug("the job is done", metadata: metadata(claim, [:])) }
    return entry
  }

  // MARK: One claim

  /// The entry to run a claim with; nil where it is settled without running.
  private func admit(_ claim: Claim, _ known: Known?, _ report: inout Report) -> JobRegistry<L>.Entry? {
    guard let known, claim.record.version <= known.entry.version else {
      logger.warning(
        "this worker does not know the job; it is parked for one that does",
        metadata: metadata(claim, ["version": "\(claim.record.version)"]))
      report.settlements.append(.park(claim))
      return nil
    }
    let entry = known.entry
    if claim.attempt > entry.retry.maxAttempts {
      let text = "each of its \(entry.retry.maxAttempts) attempts ended with its worker's death or a lost lease"
      report.settlements.append(failure(of: claim, known, text, isFinal: true))
      return nil
    }
    if claim.attempt > 1 { known.metrics.repeats() }
    return entry
  }

  private func filled(_ claims: [Claim], _ report: inout Report) async -> [Claim] {
    guard claims.contains(where: { $0.record.payloadInLedger != nil }) else { return claims }
    report.holdsPayloads = true
    let filled = await payloads.filled(claims)
    report.settlements += filled.done.map { .acknowledge($0) }
    report.failures += filled.unread
    return filled.claims
  }

  private func runSingle(_ claim: Claim, _ entry: JobRegistry<L>.Entry, _ report: inout Report) async {
    guard case .single(let handler) = entry.handler else { return }
    let record = claim.record
    let context = JobContext<L>(
      id: record.id, kind: record.kind, queue: queue, attempt: claim.attempt, createdAt: record.createdAt,
      trace: record.trace, base: logger, isDurable: record.isDurable, ledger: client.ledger, outbox: Outbox())
    do {
      try await record.inTrace { try await handler(record, context) }
    } catch is JobAlreadyDone {
      await client.pushPending(context.outbox.take())
      report.settlements.append(.acknowledge(claim))
      return
    } catch {
      guard context.isCompleted.withLock({ $0 }) else {
        report.failures.append((claim, error))
        return
      }
      logger.error(
        "the handler failed after its transaction had ended the job",
        metadata: metadata(claim, [LogKeys.error: "\(error)"])
      )
    }
    if context.isCompleted.withLock({ $0 }) {
      await client.pushPending(context.outbox.take())
      report.settlements.append(.acknowledge(claim))
    } else {
      report.settlements.append(record.isDurable ? .complete(claim) : .acknowledge(claim))
    }
  }

  private func runBatch(
    _ claims: ArraySlice<Claim>, _ entry: JobRegistry<L>.Entry,
    _ handler: @Sendable ([Claim], JobTransaction<L>) async throws -> Void, _ report: inout Report
  ) async {
    if claims.isEmpty { return }
    let outbox = Outbox()
    let hasBegun = Locked(false)
    do {
      let held = try await client.ledger.withTransaction { [queue, ledger = client.ledger] sql in
        _ = outbox.take()
        let durable = claims.filter(\.record.isDurable).map(\.record.id)
        let completion = try await ledger.complete(durable, queue: queue, in: sql)
        let (pending, held) = (Set(completion.ended), Set(completion.held))
        let live = claims.filter { !$0.record.isDurable || pending.contains($0.record.id) }
        if live.isEmpty { return held }
        hasBegun.withLock { $0 = true }
        try await Self.inTrace(of: live) {
          try await handler(live, JobTransaction(sql: sql, ledger: ledger, outbox: outbox))
        }
        return held
      }
      await client.pushPending(outbox.take())
      for claim in claims {
        if claim.record.isDurable, held.contains(claim.record.id) {
          report.failures.append((claim, JobHeld()))
        } else {
          report.settlements.append(.acknowledge(claim))
        }
      }
    } catch {
      // Where the ledger could not even begin, smaller batches would fail one after another for the same reason.
      if claims.count == 1 || Task.isCancelled || !hasBegun.withLock({ $0 }) {
        report.failures += claims.map { ($0, error) }
        return
      }
      if error is PayloadError {
        let sound = withoutUndecodable(claims, entry, &report)
        if sound.count < claims.count { return await runBatch(sound, entry, handler, &report) }
      }
      let middle = claims.startIndex + claims.count / 2
      await runBatch(claims[..<middle], entry, handler, &report)
      await runBatch(claims[middle...], entry, handler, &report)
    }
  }

  private func runOpenBatch(
    _ claims: [Claim], _ handler: @Sendable ([Claim], BatchProgress<L>) async throws -> Void, _ report: inout Report
  ) async {
    if claims.isEmpty { return }
    let durable = Set(claims.filter(\.record.isDurable).map(\.record.id))
    let progress = BatchProgress(
      queue: queue, durable: durable, ledger: client.ledger, logger: logger,
      push: { [client] in await client.pushPending($0) })
    var thrown: (any Error)?
    do { try await Self.inTrace(of: claims) { try await handler(claims, progress) } } catch { thrown = error }
    for claim in claims {
      let record = claim.record
      switch progress.outcome(of: record.id) {
      case .ended: report.settlements.append(.acknowledge(claim))
      case .failed(let error): report.failures.append((claim, error))
      case nil:
        if let thrown {
          report.failures.append((claim, thrown))
        } else {
          report.settlements.append(record.isDurable ? .complete(claim) : .acknowledge(claim))
        }
      }
    }
  }

  /// Runs a batch in the trace of its jobs, if all are of one: else nobody could say which of them a line belongs to.
  private static func inTrace(of claims: [Claim], _ body: () async throws -> Void) async rethrows {
    guard let first = claims.first, claims.allSatisfy({ $0.record.trace == first.record.trace }) else {
      return try await body()
    }
    try await first.record.inTrace(body)
  }

  /// The first claim of each job, and the further ones of the same jobs.
  private static func once(_ claims: [Claim]) -> (once: [Claim], again: [Claim]) {
    var seen: Set<JobID> = []
    var (once, again): ([Claim], [Claim]) = ([], [])
    for claim in claims {
      if seen.insert(claim.record.id).inserted { once.append(claim) } else { again.append(claim) }
    }
    return (once, again)
  }

  /// Those that decode; the others go into the report.
  private func withoutUndecodable(
    _ claims: ArraySlice<Claim>, _ entry: JobRegistry<L>.Entry, _ report: inout Report
  ) -> ArraySlice<Claim> {
    var sound: [Claim] = []
    for claim in claims {
      do {
        try entry.validate(claim.record.payload, claim.record.version)
        sound.append(claim)
      } catch {
        report.failures.append((claim, error))
      }
    }
    return sound[...]
  }

  private func failure(of claim: Claim, _ known: Known?, _ text: String, isFinal: Bool) -> Settlement {
    let policy = known?.entry.retry ?? RetryPolicy()
    let failure = JobFailure(attempt: claim.attempt, at: unixMilliseconds(), error: text, worker: worker)
    if isFinal || claim.attempt >= policy.maxAttempts {
      logger.error("the job is dead", metadata: metadata(claim, [LogKeys.error: "\(failure.error)"]))
      return .deadLetter(claim, failure)
    }
    var generator = SystemRandomNumberGenerator()
    let delay = policy.delay(afterAttempt: claim.attempt, using: &generator)
    logger.warning(
      "the job failed and will be tried again",
      metadata: metadata(claim, [LogKeys.error: "\(failure.error)", LogKeys.delay: "\(delay.milliseconds)"]))
    return .retry(claim, failure, delay)
  }

  private func metadata(_ claim: Claim, _ more: Logger.Metadata) -> Logger.Metadata {
    var all: Logger.Metadata = [
      LogKeys.job: "\(claim.record.id)", LogKeys.kind: "\(claim.record.kind)", LogKeys.attempt: "\(claim.attempt)",
    ]
    if let trace = claim.record.trace { all[LogKeys.trace] = "\(trace)" }
    return all.merging(more) { $1 }
  }
}
