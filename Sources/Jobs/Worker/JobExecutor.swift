import Locking
import Logging
import Metrics

/// Runs what slots take and says how each claim ended.
struct JobExecutor<B: Broker, L: Ledger>: Sendable {
  /// How an item's claims ended, before it is known whether a time limit cut them off.
  struct Report: Sendable {
    var settlements: [Settlement] = []
    var failures: [(claim: Claim, error: any Error)] = []
  }

  private let queue: QueueName
  private let worker: String
  private let registry: JobRegistry<L>
  private let client: JobClient<B, L>
  private let settlements: Settlements
  private let logger: Logger
  private let metrics: JobMetrics

  init(
    queue: QueueName, worker: String, registry: JobRegistry<L>, client: JobClient<B, L>,
    settlements: Settlements, logger: Logger
  ) {
    self.queue = queue
    self.worker = worker
    self.registry = registry
    self.client = client
    self.settlements = settlements
    self.logger = logger
    metrics = JobMetrics(queue: queue, kinds: registry.entries.keys.sorted())
  }

  func limit(of item: WorkItem) -> Duration? {
    switch item {
    case .single(let claim): registry.entries[claim.record.kind]?.timeout
    case .batch(let claims): claims.first.flatMap { registry.entries[$0.record.kind]?.timeout }
    }
  }

  func run(_ item: WorkItem) async -> Report {
    var report = Report()
    switch item {
    case .single(let claim):
      guard let entry = admit(claim, &report) else { break }
      await runSingle(claim, entry, &report)
    case .batch(let claims):
      var admitted: [Claim] = []
      var entry: JobRegistry<L>.Entry?
      for claim in claims {
        guard let found = admit(claim, &report) else { continue }
        entry = found
        admitted.append(claim)
      }
      guard let entry else { break }
      let (once, again) = Self.once(admitted)
      switch entry.handler {
      case .single: break
      case .batch(_, let handler): await runBatch(once[...], entry, handler, &report)
      case .openBatch(_, let handler): await runOpenBatch(once, handler, &report)
      }
      // Two deliveries of one job: the one that ran stands for both.
      report.settlements += again.map { .acknowledge($0) }
    }
    return report
  }

  /// Settles an item. A handler that a shutdown cancelled is left as it is: it has not failed, and leaving the queue hands
  /// it back.
  func settle(_ report: Report, isTimedOut: Bool) {
    for settlement in report.settlements {
      if case .acknowledge(let claim) = settlement { done(claim) }
      if case .complete(let claim) = settlement { done(claim) }
      settlements.add(settlement)
    }
    for (claim, error) in report.failures {
      if Task.isCancelled, !isTimedOut { continue }
      let text =
        isTimedOut
        ? "it ran longer than its limit of \(limit(of: .single(claim)) ?? .zero) and was cancelled" : "\(error)"
      settlements.add(failure(of: claim, text, isFinal: error is PayloadError))
    }
  }

  private func done(_ claim: Claim) {
    metrics.completed(claim.record)
    logger.debug("the job is done", metadata: metadata(claim, [:]))
  }

  // MARK: One claim

  /// The entry to run a claim with; nil where it is settled without running.
  private func admit(_ claim: Claim, _ report: inout Report) -> JobRegistry<L>.Entry? {
    guard let entry = registry.entries[claim.record.kind], claim.record.version <= entry.version else {
      logger.warning(
        "this worker does not know the job; it is parked for one that does",
        metadata: metadata(claim, ["version": "\(claim.record.version)"]))
      report.settlements.append(.park(claim))
      return nil
    }
    if claim.attempt > entry.retry.maxAttempts {
      let text = "each of its \(entry.retry.maxAttempts) attempts ended with its worker's death or a lost lease"
      report.settlements.append(failure(of: claim, text, isFinal: true))
      return nil
    }
    if claim.attempt > 1 { metrics.repeats(claim.record) }
    return entry
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
      await client.pushOwed(context.outbox.take())
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
      await client.pushOwed(context.outbox.take())
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
      try await client.ledger.withTransaction { [queue, ledger = client.ledger] sql in
        _ = outbox.take()
        let durable = claims.filter(\.record.isDurable).map(\.record.id)
        let owed = Set(try await ledger.complete(durable, queue: queue, in: sql))
        let live = claims.filter { !$0.record.isDurable || owed.contains($0.record.id) }
        if live.isEmpty { return }
        hasBegun.withLock { $0 = true }
        try await Self.inTrace(of: live) {
          try await handler(live, JobTransaction(sql: sql, ledger: ledger, outbox: outbox))
        }
      }
      await client.pushOwed(outbox.take())
      report.settlements += claims.map { .acknowledge($0) }
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
      push: { [client] in await client.pushOwed($0) })
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

  private func failure(of claim: Claim, _ text: String, isFinal: Bool) -> Settlement {
    let policy = registry.entries[claim.record.kind]?.retry ?? RetryPolicy()
    let failure = JobFailure(attempt: claim.attempt, at: unixMilliseconds(), error: text, worker: worker)
    if isFinal || claim.attempt >= policy.maxAttempts {
      metrics.died(claim.record)
      logger.error("the job is dead", metadata: metadata(claim, [LogKeys.error: "\(failure.error)"]))
      return .bury(claim, failure)
    }
    var generator = SystemRandomNumberGenerator()
    let delay = policy.delay(afterAttempt: claim.attempt, using: &generator)
    metrics.failed(claim.record)
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
