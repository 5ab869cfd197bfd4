import Logging

/// Tells ledger and broker how claims ended, a batch at a time: the ledger first, so that no crash between the two forgets
/// a job.
struct Settler<C: BrokerConsumer, L: Ledger>: Sendable {
  let queue: QueueName
  let ledger: L
  let consumer: C
  let logger: Logger

  func settle(_ batch: [Settlement], until stop: StopSignal) async {
    var acknowledged: [Claim] = []
    var completed: [Claim] = []
    var failed: [FailedJob] = []
    var retries: [ClaimRetry] = []
    var dead: [DeadJob] = []
    var buried: [Claim] = []
    var parked: [Claim] = []
    var cancelled: [Claim] = []
    var released: [Claim] = []
    acknowledged.reserveCapacity(batch.count)
    for settlement in batch {
      switch settlement {
      case .acknowledge(let claim): acknowledged.append(claim)
      case .complete(let claim): completed.append(claim)
      case .park(let claim): parked.append(claim)
      case .cancel(let claim): cancelled.append(claim)
      case .release(let claim): released.append(claim)
      case .bury(let claim, let failure):
        dead.append(DeadJob(record: claim.record, attempts: claim.attempt, failure: failure))
        buried.append(claim)
      case .retry(let claim, let failure, let delay):
        var record = claim.record
        record.attempts = claim.attempt
        if record.isDurable {
          failed.append(FailedJob(id: record.id, failure: failure, runAt: failure.at + delay.milliseconds))
        } else {
          record.failures.append(failure)
        }
        retries.append(ClaimRetry(claim: claim, delay: delay, record: record))
      }
    }
    // The broker forgets only what the ledger has taken in: what it could not be told stays claimed, and leaving the queue
    // or the lease's end hands it on.
    var done = acknowledged
    let (deadJobs, failedJobs, parkedJobs) = (dead, failed, parked.map(\.record))
    let completedIDs = completed.map(\.record.id)
    let cancelledIDs = cancelled.map(\.record.id)
    if !completed.isEmpty,
      await persist("complete", stop, { try await ledger.complete(completedIDs, queue: queue) })
    {
      done += completed
    }
    if !cancelled.isEmpty,
      await persist("cancel", stop, { try await ledger.cancel(cancelledIDs, queue: queue) })
    {
      done += cancelled
    }
    if !deadJobs.isEmpty, await persist("bury", stop, { try await ledger.bury(deadJobs) }) { done += buried }
    if !parkedJobs.isEmpty, await persist("park", stop, { try await ledger.park(parkedJobs) }) { done += parked }
    if !failedJobs.isEmpty {
      // A failure that cannot be noted is still waited out.
      _ = await persist("note failures of", stop) { try await ledger.recordFailures(failedJobs, queue: queue) }
    }
    let (ended, again, back) = (done, retries, released)
    if !ended.isEmpty { _ = await persist("acknowledge", stop) { try await consumer.acknowledge(ended) } }
    if !again.isEmpty { _ = await persist("retry", stop) { try await consumer.retry(again) } }
    if !back.isEmpty { _ = await persist("hand back", stop) { try await consumer.release(back) } }
  }

  /// Tries until it succeeds: whoever is away comes back. After a stop it gives up, and the lease's end settles the rest.
  ///
  /// - Returns: whether it succeeded.
  private func persist(
    _ what: String, _ stop: StopSignal, _ body: @Sendable () async throws -> Void
  ) async -> Bool {
    var backoff = Backoff()
    var triesAfterStop = 0
    while true {
      do {
        try await body()
        return true
      } catch {
        logger.warning("cannot \(what) jobs yet", metadata: [LogKeys.error: "\(error)"])
        if stop.isStopping { triesAfterStop += 1 }
        if triesAfterStop > 5 || Task.isCancelled { return false }
        await backoff.pause(until: triesAfterStop > 0 ? nil : stop)
      }
    }
  }
}
