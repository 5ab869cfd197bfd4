import Logging

/// Renews a worker's lease on a queue and handles the heartbeat's result: a lost lease, claims that never arrived, jobs
/// that are due.
struct HeartbeatLoop<C: BrokerConsumer>: Sendable {
  let queue: QueueName
  let consumer: C
  let configuration: WorkerConfiguration
  let epochs: Epochs
  let state: SharedQueueState
  let logger: Logger

  /// Sends heartbeats until cancelled.
  func run() async {
    var isFailing = false
    var incarnation = 0
    var listedAt = configuration.clock.instant
    while !Task.isCancelled {
      var pause = configuration.heartbeat
      if state.read({ $0.letsLeaseEnd }) {
        do { try await configuration.clock.sleep(for: pause) } catch { return }
        continue
      }
      do {
        let lists = configuration.clock.instant - listedAt >= configuration.lease
        if lists { listedAt = configuration.clock.instant }
        let heartbeat = try await consumer.heartbeat(listingHeld: lists)
        if heartbeat.keptLease, heartbeat.incarnation == incarnation, !heartbeat.held.isEmpty {
          try await returnUnreceived(heartbeat.held)
        }
        epochs.note(await consumer.epoch, of: queue)
        if heartbeat.incarnation != incarnation {
          incarnation = heartbeat.incarnation
          let lost = state.update { [incarnation] in $0.leaseLost(to: incarnation) }
          logger.warning("the lease was lost and replaced by a new one", metadata: [LogKeys.count: "\(lost)"])
        }
        if heartbeat.reaped > 0 {
          logger.info("redelivered a dead worker's jobs", metadata: [LogKeys.count: "\(heartbeat.reaped)"])
        }
        if let due = heartbeat.nextDue { pause = min(pause, max(due, .milliseconds(2))) }
        if isFailing { logger.info("the heartbeat works again") }
        isFailing = false
      } catch {
        if Task.isCancelled { return }
        if !isFailing { logger.error("the heartbeat fails", metadata: [LogKeys.error: "\(error)"]) }
        isFailing = true
      }
      do { try await configuration.clock.sleep(for: pause) } catch { return }
    }
  }

  /// Hands back claims of this worker that never arrived because the broker's reply was lost.
  private func returnUnreceived(_ held: [String]) async throws {
    let mine = Set(state.read { $0.receipts })
    let lost = held.filter { !mine.contains($0) }
    if lost.isEmpty { return }
    logger.warning("claims never arrived; handing them back", metadata: [LogKeys.count: "\(lost.count)"])
    try await consumer.releaseUnreceived(lost)
  }
}
