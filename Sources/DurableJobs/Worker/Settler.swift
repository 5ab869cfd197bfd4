import Logging

/// Records in ledger and broker how claims ended, a batch at a time: the ledger first, so that a crash between the two
/// loses no job.
///
/// A job held by another transaction never counts as done, and nothing waits for it: its claim is handed back with a
/// pause, and no attempt is counted.
struct Settler<C: BrokerConsumer, L: Ledger>: Sendable {
  let queue: QueueName
  let ledger: L
  let consumer: C
  let clock: any WallClock
  let logger: Logger

  func settle(_ ended: [EndedClaim], until stop: StopSignal) async {
    var batch = SettlementBatch(ended, at: clock.now)
    await dropLost(&batch, stop)
    // The broker removes only what the ledger has recorded. The rest stays claimed until the worker leaves the queue or
    // its lease expires.
    var ended = batch.acknowledged
    var handedBack = batch.handedBack
    func settle(_ what: String, _ claims: [Claim], _ send: @Sendable () async throws -> [JobID]) async {
      if claims.isEmpty { return }
      guard let held = await persist(what, stop, send) else { return }
      if held.isEmpty {
        ended += claims
        return
      }
      let isHeld = Set(held)
      ended += claims.filter { !isHeld.contains($0.record.id) }
      handedBack += claims.filter { isHeld.contains($0.record.id) }
    }
    let (completed, cancelled) = (batch.completed.map(\.record.id), batch.cancelled.map(\.record.id))
    let (dead, parked) = (batch.dead, batch.parked.map(\.record))
    let discarded = batch.discarded
    let (failed, postponed) = (batch.failed, batch.postponed)
    await settle("complete", batch.completed) { try await ledger.complete(completed, queue: queue) }
    await settle("cancel", batch.cancelled) { try await ledger.cancel(cancelled, queue: queue) }
    await settle("dead-letter", batch.deadLettered) { try await ledger.deadLetter(dead) }
    await settle("discard", batch.discardedClaims) { try await ledger.discard(discarded) }
    await settle("park", batch.parked) { try await ledger.park(parked) }
    var again = batch.retries + batch.snoozed
    func noted(_ what: String, _ note: @Sendable () async throws -> [JobID]) async {
      // The delay applies even if it cannot be recorded.
      guard let held = await persist(what, stop, note), !held.isEmpty else { return }
      let isHeld = Set(held)
      handedBack += again.map(\.claim).filter { isHeld.contains($0.record.id) }
      again.removeAll { isHeld.contains($0.claim.record.id) }
    }
    if !failed.isEmpty {
      await noted("record failures of") { try await ledger.recordFailures(failed, queue: queue) }
    }
    if !postponed.isEmpty { await noted("postpone") { try await ledger.postpone(postponed, queue: queue) } }
    again += handedBack.map { ClaimRetry(claim: $0, delay: JobHeld.pause, record: $0.record) }
    let (done, delayed, back) = (ended, again, batch.released)
    if !done.isEmpty { await persist("acknowledge", stop) { try await consumer.acknowledge(done) } }
    if !delayed.isEmpty { await persist("retry", stop) { try await consumer.retry(delayed) } }
    if !back.isEmpty { await persist("hand back", stop) { try await consumer.release(back) } }
  }

  /// Drops outcomes of jobs that the worker has lost: one that froze past its lease must not fail another worker's
  /// jobs.
  private func dropLost(_ batch: inout SettlementBatch, _ stop: StopSignal) async {
    let judged = batch.judged
    if judged.isEmpty { return }
    guard let own = await persist("confirm", stop, { try await consumer.begin(judged) }) else {
      return batch.keepJudged { _ in false }
    }
    if own.count < judged.count { batch.keepJudged { own.contains($0.receipt) } }
  }

  /// Retries until success, since an unavailable server comes back. After a stop it gives up, and the lease's expiry
  /// settles the rest.
  ///
  /// - Returns: nil if it gave up.
  @discardableResult
  private func persist<Result: Sendable>(
    _ what: String, _ stop: StopSignal, _ body: @Sendable () async throws -> Result
  ) async -> Result? {
    var backoff = Backoff()
    var triesAfterStop = 0
    while true {
      do {
        return try await body()
      } catch {
        if backoff.isNews(clock) { logger.warning("cannot \(what) jobs yet", metadata: [LogKeys.error: "\(error)"]) }
        if stop.isStopping { triesAfterStop += 1 }
        if triesAfterStop > 5 || Task.isCancelled { return nil }
        await backoff.pause(until: triesAfterStop > 0 ? nil : stop, clock)
      }
    }
  }
}
