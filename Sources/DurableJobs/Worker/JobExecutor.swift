import Locking
import Logging

/// Runs the handlers of one queue's jobs and returns the outcome of each claim.
struct JobExecutor<B: Broker, L: Ledger>: Sendable {
  private let queue: QueueName
  private let worker: String
  /// In the order of the `KindTable`.
  private let kinds: [RunnableKind<L>]
  private let client: JobClient<B, L>
  private let batches: BatchExecutor<B, L>
  /// Its `run` runs beside the processors.
  let payloads: PayloadReads<L>
  private let logger: Logger

  init(queue: QueueName, worker: String, registry: JobRegistry<L>, client: JobClient<B, L>, logger: Logger) {
    self.queue = queue
    self.worker = worker
    self.client = client
    self.logger = logger
    kinds = RunnableKind.all(registry, in: queue, client.enqueuing.middleware)
    batches = BatchExecutor(queue: queue, client: client, logger: logger)
    payloads = PayloadReads(ledger: client.ledger, queue: queue)
  }

  /// Runs an item.
  ///
  /// - Parameter cutoff: returns why the handlers were cancelled; nil if they were not, or if the worker is stopping.
  ///   It is called after the handlers, and only if the reason matters.
  func run(_ item: WorkItem, cutoff: () -> Processors.Cutoff?) async -> JobOutcomes {
    guard let kind = item.kind.map({ kinds[$0] }) else { return .one(.park) }
    switch item.content {
    case .single(let claim):
      let result = await run(claim, kind)
      let cutoff = result.hasFailed || Task.isCancelled ? cutoff() : nil
      return .one(outcome(of: result, claim, kind, cutoff))
    case .batch(let claims):
      let results = await run(claims, kind)
      let cutoff = results.contains(where: \.hasFailed) || Task.isCancelled ? cutoff() : nil
      return .each(zip(claims, results).map { outcome(of: $1, $0, kind, cutoff) })
    }
  }

  /// Reports the outcomes of an item's attempts to the middleware.
  func report(_ outcomes: JobOutcomes, of item: WorkItem, from began: Moment, to ended: Moment) {
    let middleware = item.kind.map { kinds[$0].middleware } ?? client.enqueuing.middleware
    guard middleware.isHearing else { return }
    let runTime = (ended.instant - began.instant) / max(1, item.count)
    item.forEach(outcomes) { claim, outcome in
      let waitTime = Duration.nanoseconds(claim.wait(until: began.milliseconds))
      middleware.ended(AttemptEnd(outcome, of: claim, runTime: runTime, waitTime: waitTime), logger: logger)
    }
  }

  // MARK: Run

  private func run(_ claim: Claim, _ kind: RunnableKind<L>) async -> AttemptResult {
    if let refusal = refusal(of: claim, kind) { return .ended(refusal) }
    guard claim.record.payloadInLedger != nil else { return await call(claim, kind) }
    switch await payloads.filled([claim]).first {
    case .claim(let filled): return await call(filled, kind)
    case .done, nil: return .ended(.acknowledge)
    case .unread(let error): return .failed(error)
    }
  }

  private func call(_ claim: Claim, _ kind: RunnableKind<L>) async -> AttemptResult {
    let record = claim.record
    guard case .single(let handler) = kind.entry.handler else { return .ended(.release) }
    let context = JobContext<L>(
      id: record.id, kind: record.kind, queue: queue, attempt: claim.attempt, createdAt: record.createdAt,
      trace: record.trace?.id, base: logger, isDurable: record.isDurable, ledger: client.ledger, outbox: Outbox(),
      enqueuing: client.enqueuing)
    var isDone = false
    do {
      try await record.inTrace {
        guard kind.middleware.hasRun else { return try await handler(record, context) }
        let attempt = JobAttempt(claims: [claim], kind: record.kind, queue: queue, logger: logger)
        try await kind.middleware.run(attempt) { try await handler(record, context) }
      }
    } catch is JobAlreadyDone {
      isDone = true
    } catch {
      guard context.isCompleted.withLock({ $0 }) else { return .failed(error) }
      context.logger.error(
        "the handler failed after its transaction had ended the job", metadata: [LogKeys.error: "\(error)"])
    }
    guard isDone || context.isCompleted.withLock({ $0 }) else {
      return .ended(record.isDurable ? .complete : .acknowledge)
    }
    await client.pushPending(context.outbox.take())
    return .ended(.acknowledge)
  }

  private func run(_ claims: [Claim], _ kind: RunnableKind<L>) async -> [AttemptResult] {
    // Claims without another result below are handed back.
    var results = Array(repeating: AttemptResult.ended(.release), count: claims.count)
    var members: [BatchMember] = []
    var seen: Set<JobID> = []
    for (place, claim) in claims.enumerated() {
      if let refusal = refusal(of: claim, kind) {
        results[place] = .ended(refusal)
      } else if seen.insert(claim.record.id).inserted {
        members.append(BatchMember(place: place, claim: claim))
      } else {
        // Two deliveries of one job: running one settles both.
        results[place] = .ended(.acknowledge)
      }
    }
    if members.contains(where: { $0.claim.record.payloadInLedger != nil }) {
      let filled = await payloads.filled(members.map(\.claim))
      members = zip(members, filled).compactMap { member, filled in
        switch filled {
        case .claim(let claim): return BatchMember(place: member.place, claim: claim)
        case .done: results[member.place] = .ended(.acknowledge)
        case .unread(let error): results[member.place] = .failed(error)
        }
        return nil
      }
    }
    for (place, result) in await batches.run(members, kind) { results[place] = result }
    return results
  }

  // MARK: Outcomes

  /// The outcome of a claim that must not run; nil if it may.
  private func refusal(of claim: Claim, _ kind: RunnableKind<L>) -> JobOutcome? {
    if claim.record.version > kind.entry.version { return .park }
    let maxAttempts = claim.record.maxAttempts ?? kind.entry.retry.maxAttempts
    if claim.attempt > maxAttempts {
      let text = "each of its \(maxAttempts) attempts ended with its worker's death or a lost lease"
      return failure(of: claim, kind, text, isFinal: true)
    }
    return nil
  }

  private func outcome(
    of result: AttemptResult, _ claim: Claim, _ kind: RunnableKind<L>, _ cutoff: Processors.Cutoff?
  ) -> JobOutcome {
    switch (result, cutoff) {
    case (.ended(.acknowledge), .unwanted(let ids)) where ids.contains(claim.record.id):
      // Another delivery ended it, as requested, or it finished first: either way nothing is pending.
      return .cancel
    case (.ended(let outcome), _): return outcome
    case (.failed, .unwanted(let ids)):
      // Its neighbours in a batch have not failed.
      guard ids.contains(claim.record.id) else { return .release }
      return .cancel
    case (.failed, .timeLimit):
      let text = "it ran longer than its limit of \(kind.timeout(of: claim) ?? .zero) and was cancelled"
      return failure(of: claim, kind, text, isFinal: false)
    case (.failed(let error), nil):
      // A handler cancelled by a shutdown has not failed.
      if Task.isCancelled { return .release }
      if let error = error as? any JobHandback, error.handsJobBack {
        return .handBack(reason: "\(error)")
      }
      if let snooze = error as? JobSnooze {
        return .snooze(snooze.delay)
      }
      if let discard = error as? JobDiscard {
        return .discard(
          JobFailure(attempt: claim.attempt, at: client.enqueuing.clock.now, error: discard.reason, worker: worker))
      }
      return failure(of: claim, kind, "\(error)", isFinal: error is PayloadError)
    }
  }

  private func failure(of claim: Claim, _ kind: RunnableKind<L>, _ text: String, isFinal: Bool) -> JobOutcome {
    let policy = kind.entry.retry
    let failure = JobFailure(attempt: claim.attempt, at: client.enqueuing.clock.now, error: text, worker: worker)
    if isFinal || claim.attempt >= claim.record.maxAttempts ?? policy.maxAttempts {
      return .deadLetter(failure)
    }
    var generator = SystemRandomNumberGenerator()
    let delay = policy.delay(afterAttempt: claim.attempt, using: &generator)
    return .retry(failure, delay: delay)
  }
}

/// The result of running a claim, before a time limit or an operator's cancellation is taken into account.
enum AttemptResult: Sendable {
  case ended(JobOutcome)
  case failed(any Error)

  var hasFailed: Bool { if case .failed = self { true } else { false } }
}
