import Locking
import Logging

/// One worker's work on one queue: a loop that claims, slots that run, a loop that settles, a heartbeat apart from all
/// of them.
final class QueueRunner<B: Broker, L: Ledger>: Sendable {
  let queue: QueueName
  private let kinds: [JobKind]
  private let broker: B
  private let ledger: L
  private let configuration: WorkerConfiguration
  private let logger: Logger
  private let buffer: ClaimBuffer
  private let settlements: Settlements
  private let gate: ClaimGate
  private let slots: Slots
  private let executor: JobExecutor<B, L>
  private let epochs: Epochs
  private let closings: AsyncStream<Void>
  private let pauses: AsyncStream<Void>.Continuation
  /// Claimed, and on their way to the buffer.
  private let arriving = Locked<[Claim]>([])

  /// - Parameter waits: why nothing is claimed at first.
  init(
    queue: QueueName, slots: Int, broker: B, ledger: L, registry: JobRegistry<L>,
    configuration: WorkerConfiguration, epochs: Epochs, waits: ClaimGate.Reasons = [], logger: Logger
  ) {
    gate = ClaimGate(waits)
    (closings, pauses) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    self.epochs = epochs
    self.queue = queue
    self.broker = broker
    self.ledger = ledger
    self.configuration = configuration
    var logger = logger
    logger[metadataKey: LogKeys.queue] = "\(queue)"
    self.logger = logger
    let limits = registry.entries.compactMapValues(\.handler.batchLimit)
    buffer = ClaimBuffer(slots: slots, batchLimits: limits, assumed: configuration.assumedJobTime)
    self.slots = Slots(count: slots)
    kinds = registry.kinds
    settlements = Settlements(kinds: kinds.count)
    executor = JobExecutor(
      queue: queue, worker: configuration.name, registry: registry,
      client: JobClient(broker: broker, ledger: ledger, logger: logger), settlements: settlements, logger: logger)
  }

  func run(until stop: StopSignal) async {
    guard let consumer = await join(until: stop) else { return }
    let preferred = broker.executor
    await withTaskGroup(of: Void.self) { background in
      background.addTask(executorPreference: preferred) { await self.heartbeat(consumer).run() }
      background.addTask { await self.watchLimits() }
      background.addTask(executorPreference: preferred) { await self.marks(consumer).run() }
      background.addTask {
        await stop.wait()
        await self.handBack(consumer)
      }
      background.addTask { await self.obeyPauses(consumer) }
      await withTaskGroup(of: Void.self) { settling in
        settling.addTask(executorPreference: preferred) { await self.settle(consumer, stop) }
        settling.addTask { await self.executor.payloads.run() }
        await work(consumer, stop)
        executor.payloads.close()
        settlements.close()
      }
      background.cancelAll()
    }
    do {
      try await consumer.leave()
    } catch {
      logger.warning(
        "the queue could not be left; what was held is handed on when the lease ends",
        metadata: [LogKeys.error: "\(error)"])
    }
  }

  private func heartbeat(_ consumer: B.Consumer) -> HeartbeatLoop<B.Consumer> {
    HeartbeatLoop(
      queue: queue, consumer: consumer, configuration: configuration, epochs: epochs, gate: gate, slots: slots,
      arriving: arriving, buffer: buffer, settlements: settlements, logger: logger)
  }

  private func marks(_ consumer: B.Consumer) -> BeginMarks<B, L> {
    BeginMarks(
      consumer: consumer, interval: min(configuration.heartbeat, .milliseconds(250)), slots: slots,
      settlements: settlements, logger: logger)
  }

  /// Joins the queue, however long the broker is away.
  private func join(until stop: StopSignal) async -> B.Consumer? {
    var backoff = Backoff()
    while !stop.isStopping {
      do {
        return try await broker.join(queue, worker: configuration.name, lease: configuration.lease)
      } catch {
        logger.error("the queue cannot be joined", metadata: [LogKeys.error: "\(error)"])
        await backoff.pause(until: stop)
      }
    }
    return nil
  }

  // MARK: Claim and run

  /// Claims and runs until the stop; past the shutdown limit cancels what still runs.
  private func work(_ consumer: B.Consumer, _ stop: StopSignal) async {
    await withTaskGroup(of: Bool.self) { group in
      group.addTask(executorPreference: broker.executor) {
        await self.claim(consumer, stop)
        return false
      }
      for index in 0..<slots.count {
        group.addTask {
          await self.slots.run(index) { await self.runItems(slot: index, consumer, stop) }
          return false
        }
      }
      group.addTask { [shutdownLimit = configuration.shutdownLimit] in
        await stop.wait()
        do { try await Task.sleep(for: shutdownLimit) } catch { return false }
        return true
      }
      // The limit is the one child that may outlive the work: as soon as the others are through, nobody waits for it.
      var left = slots.count + 1
      for await isPastLimit in group {
        if isPastLimit {
          logger.warning("jobs still run past the shutdown limit; they are cancelled and handed back")
          group.cancelAll()
        } else {
          left -= 1
        }
        if left == 0 { group.cancelAll() }
      }
    }
  }

  private func claim(_ consumer: B.Consumer, _ stop: StopSignal) async {
    var backoff = Backoff()
    while !stop.isStopping {
      await gate.pass()
      await settlements.room()
      let room = await buffer.room()
      if room == 0 { return }
      if gate.isClosed, !stop.isStopping { continue }
      do {
        let claims = try await consumer.claim(room, wait: .seconds(5))
        backoff.reset()
        if claims.isEmpty { continue }
        if gate.isClosed {
          await giveBack(claims, to: consumer)
          continue
        }
        arriving.withLock { $0 = claims }
        let pending = await dropSettled(claims)
        buffer.add(pending)
        arriving.withLock { $0 = [] }
        if stop.isStopping { await handBack(consumer) }
        // What came while the gate was closing.
        if gate.isClosed { await giveBack(buffer.takeBack(), to: consumer) }
      } catch {
        if stop.isStopping { return }
        logger.error("jobs cannot be claimed", metadata: [LogKeys.error: "\(error)"])
        await backoff.pause(until: stop)
      }
    }
  }

  /// Leaves out redelivered jobs that were done meanwhile, so that what their handlers do outside is not done twice.
  private func dropSettled(_ claims: [Claim]) async -> [Claim] {
    let doubtful = claims.filter { $0.record.isDurable && ($0.attempt > 1 || $0.isRedelivered) }.map(\.record.id)
    if doubtful.isEmpty { return claims }
    do {
      let settled = Set(doubtful).subtracting(try await ledger.pending(doubtful, queue: queue))
      if settled.isEmpty { return claims }
      return claims.filter { claim in
        guard claim.record.isDurable, settled.contains(claim.record.id) else { return true }
        settlements.add(.acknowledge(claim))
        return false
      }
    } catch {
      // The transaction that ends a job finds out by itself; only work is wasted.
      logger.warning("the ledger cannot say what is pending", metadata: [LogKeys.error: "\(error)"])
      return claims
    }
  }

  /// Gives back at once what has been claimed and not begun.
  private func handBack(_ consumer: B.Consumer) async {
    // First of all nothing more begins: the broker may take its time to answer.
    let unbegun = buffer.close()
    settlements.stopClaims()
    gate.end()
    await consumer.stopClaiming()
    await giveBack(unbegun, to: consumer)
  }

  private func giveBack(_ claims: [Claim], to consumer: B.Consumer) async {
    if claims.isEmpty { return }
    do {
      try await consumer.release(claims)
    } catch {
      // Nobody else would take them: as long as this worker lives, its claims are its own.
      logger.warning("claims are handed back as soon as the broker can be told", metadata: [LogKeys.error: "\(error)"])
      for claim in claims { settlements.add(.release(claim)) }
    }
  }

  // MARK: Orders

  /// Claims no more, or again. Until the first call nothing is claimed where the worker has a registry.
  func pause(_ isPaused: Bool) {
    if isPaused {
      if close(.paused, remove: .unknown) { logger.notice("the queue is paused: nothing is claimed from it") }
    } else {
      let wasPaused = gate.reasons.contains(.paused)
      gate.change(remove: [.paused, .unknown])
      if wasPaused { logger.notice("the queue is claimed from again") }
    }
  }

  /// Whether it is still unknown whether the queue is paused.
  var awaitsState: Bool { gate.reasons.contains(.unknown) }

  /// Claims nothing, and gives back what has not begun, while the ledger is silent.
  func ledgerIsSilent(_ isSilent: Bool) {
    if isSilent {
      if close(.silence) { logger.warning("the ledger is silent: nothing is claimed until it answers") }
    } else if gate.reasons.contains(.silence) {
      gate.change(remove: .silence)
      logger.notice("the ledger answers again")
    }
  }

  /// - Returns: whether the reason is new.
  private func close(_ reason: ClaimGate.Reasons, remove: ClaimGate.Reasons = []) -> Bool {
    let isNew = !gate.reasons.contains(reason)
    if isNew || !remove.isEmpty { gate.change(remove: remove, add: reason) }
    if isNew { pauses.yield() }
    return isNew
  }

  /// Each time the gate closes, ends the claim that waits and gives back what has not begun.
  private func obeyPauses(_ consumer: B.Consumer) async {
    for await _ in closings where gate.isClosed {
      await consumer.wakeClaim()
      await giveBack(buffer.takeBack(), to: consumer)
    }
  }

  /// Cancels what runs of `ids`; what has not begun of them never does.
  func cancel(_ ids: Set<JobID>) {
    slots.cancel(ids)
    for claim in buffer.takeBack(where: { $0.record.isDurable && ids.contains($0.record.id) }) {
      settlements.add(.cancel(claim))
    }
  }

  // MARK: Report

  /// What runs now.
  ///
  /// - Parameters:
  ///   - now: the moment in milliseconds since 1970 that `instant` is.
  ///   - most: how many jobs are named at most.
  func running(at now: Int64, _ instant: ContinuousClock.Instant, most: Int) -> [WorkerReport.Running] {
    var named: [WorkerReport.Running] = []
    for (item, since) in slots.running {
      let began = now - (instant - since).milliseconds
      for claim in item.claims.prefix(most - named.count) {
        named.append(
          WorkerReport.Running(
            id: claim.record.id, kind: claim.record.kind, queue: queue, attempt: claim.attempt, since: began))
      }
    }
    return named
  }

  /// What was done since the last call.
  func takeCounts() -> [(JobKind, JobCounts)] {
    zip(kinds, settlements.takeTally()).filter { !$0.1.isEmpty }.map { ($0.0, $0.1) }
  }

  /// - Returns: false when the slot needs another task, because this one was cancelled.
  private func runItems(slot: Int, _ consumer: B.Consumer, _ stop: StopSignal) async -> Bool {
    let (clock, marks) = (ContinuousClock(), marks(consumer))
    while let item = await buffer.next(for: slot) {
      var assignment = executor.assignment(item)
      // Asked here: to call what may wait costs a short job more than the question.
      let mustBeMarked = assignment.mustBeMarked
      if mustBeMarked {
        guard let own = await marks.marked(assignment, until: stop) else {
          buffer.finished(item.count, seconds: nil, by: slot)
          // A task that was cancelled can run nothing more.
          if Task.isCancelled { return false }
          continue
        }
        assignment = own
      }
      let (start, began) = (clock.now, unixMilliseconds())
      slots.began(
        slot, assignment.item, limit: assignment.limit, at: start, isMarked: mustBeMarked)
      let report = await executor.run(assignment)
      let cutoff = slots.ended(slot)
      let took = start.duration(to: clock.now)
      let each = took.nanoseconds / Int64(max(1, item.count))
      executor.settle(report, of: assignment, cutoff, JobExecutor<B, L>.Timing(began: began, run: each))
      buffer.finished(item.count, seconds: took / .seconds(1), by: slot)
      if cutoff != nil { return false }
    }
    return true
  }

  // MARK: Settle

  private func settle(_ consumer: B.Consumer, _ stop: StopSignal) async {
    let settler = Settler(queue: queue, ledger: ledger, consumer: consumer, logger: logger)
    while let batch = await settlements.next() {
      await settler.settle(batch, until: stop)
    }
  }

  // MARK: Limits

  /// Apart from the heartbeat, whose broker may keep it waiting: time limits hold all the same.
  private func watchLimits() async {
    while !Task.isCancelled {
      slots.cancelOverdue(now: .now)
      do { try await Task.sleep(for: min(configuration.heartbeat, .milliseconds(250))) } catch { return }
    }
  }
}
