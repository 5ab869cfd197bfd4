import Locking
import Logging
import Metrics

/// Pushes pending jobs of the ledger that the broker does not know: after a process died between commit and push, after
/// the broker refused a push, or after it lost its data.
///
/// One worker at a time does this for all workers of the same queues, as long as it reaches the broker. `QueueSweep`
/// decides what to compare; the queues take turns page by page, so that a backlog in one delays no other.
struct Relay<B: Broker, L: Ledger>: Sendable {
  let broker: B
  let ledger: L
  let kinds: [JobKind: Int]
  let configuration: WorkerConfiguration
  let epochs: Epochs
  let logger: Logger
  private var clock: any WallClock { configuration.clock }
  /// The maximum number of other programs' jobs in one push.
  private static var addedAtOnce: Int { 1000 }
  /// How long the broker may take to answer which jobs it knows.
  private static var patience: Duration { .seconds(1) }
  /// Counts jobs pushed again.
  private let relayed: [QueueName: Counter]

  /// The leader's state for one queue.
  private struct Served {
    var sweep: QueueSweep
    var epoch: String?
    /// The number of pushed jobs since the last log line.
    var pushed = 0
    var isTroubled = false
    /// Jobs that cannot be pushed and have been reported.
    var refused: Set<JobID> = []
  }

  init(
    broker: B, ledger: L, kinds: [JobKind: Int], configuration: WorkerConfiguration, epochs: Epochs, logger: Logger
  ) {
    self.broker = broker
    self.ledger = ledger
    self.kinds = kinds
    self.configuration = configuration
    self.epochs = epochs
    self.logger = logger
    relayed = Dictionary(
      uniqueKeysWithValues: configuration.queues.keys.map {
        ($0, Counter(label: "fanmill_relayed_jobs_total", dimensions: [("queue", $0.rawValue)]))
      })
  }

  /// Leads, or waits to lead, until cancelled.
  func run() async {
    let role = "relay:" + configuration.queues.keys.sorted().map(\.rawValue).joined(separator: ",")
    var backoff = Backoff()
    while !Task.isCancelled {
      do {
        // A worker that cannot reach the broker leaves the lead to another.
        if await reachesBroker() { try await ledger.lead(role) { try await lead() } }
      } catch {
        if Task.isCancelled { return }
        if backoff.isNews(clock) { logger.warning("the relay was interrupted", metadata: [LogKeys.error: "\(error)"]) }
      }
      await backoff.pause(until: nil, clock)
    }
  }

  private func lead() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await relay() }
      group.addTask { try await pushAdded() }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// Pushes jobs that other programs add to the ledger, as they commit, until cancelled.
  private func pushAdded() async throws {
    let queues = Set(configuration.queues.keys)
    var backoff = Backoff()
    while true {
      do {
        try await ledger.listen(to: queues) { added in
          for queue in added.intersection(queues).sorted() { try await pushAdded(to: queue) }
        }
      } catch {
        try Task.checkCancellation()
        if backoff.isNews(clock) {
          logger.warning(
            "jobs added by other programs wait for the next sweep", metadata: [LogKeys.error: "\(error)"])
        }
      }
      await backoff.pause(until: nil, clock)
      try Task.checkCancellation()
    }
  }

  private func pushAdded(to queue: QueueName) async throws {
    var refused: Set<JobID> = []
    // Refused jobs go first: the sweep drains them, and then finds these.
    if try await broker.hold(of: queue) != nil { return }
    while true {
      let ids = try await ledger.takeUnpushed(queue: queue, limit: Self.addedAtOnce)
      if ids.isEmpty { return }
      _ = try await push(try await missing(ids, in: queue), in: queue, &refused)
    }
  }

  /// Compares ledger and broker page by page until cancelled; the queues take turns.
  private func relay() async throws {
    var served: [QueueName: Served] = [:]
    while true {
      var isIdle = true
      for (queue, epoch) in epochs.all {
        let now = clock.instant
        var state = served[queue] ?? Served(sweep: sweep(at: now))
        if state.epoch != epoch {
          // The broker may know nothing: all pending jobs are compared, regardless of age.
          state.epoch = epoch
          state.sweep.restart(at: now, time: clock.now.unixMilliseconds)
        }
        if let step = state.sweep.next(at: now, time: clock.now.unixMilliseconds) {
          isIdle = false
          try await carryOut(step, of: queue, &state)
        }
        served[queue] = state
      }
      if isIdle { try await pause(until: served.values.map(\.sweep.due).min()) }
    }
  }

  private func sweep(at now: ContinuousClock.Instant) -> QueueSweep {
    QueueSweep(interval: configuration.relayInterval, age: configuration.relayAge, at: now)
  }

  /// Waits until a step is due, or until it is time to check the epochs again.
  private func pause(until due: ContinuousClock.Instant?) async throws {
    let now = clock.instant
    let longest = now + min(configuration.heartbeat, configuration.relayInterval) / 2
    try await clock.sleep(for: max(.milliseconds(1), min(due ?? longest, longest) - now))
  }

  private func carryOut(_ step: QueueSweep.Step, of queue: QueueName, _ state: inout Served) async throws {
    do {
      let begun = clock.instant
      let (wasRestarting, wasDraining) = (state.sweep.isRestarting, state.sweep.isDraining)
      let (ids, read) = try await ids(of: step, in: queue)
      var outcome = QueueSweep.Outcome(ids: ids, read: read)
      outcome.missing = try await missing(ids, in: queue)
      if !outcome.missing.isEmpty {
        if !wasDraining, let hold = try await broker.hold(of: queue) {
          logger.notice(
            "the broker refused jobs; pushing them before newer ones", metadata: [LogKeys.queue: "\(queue)"])
          state.sweep.drain(from: JobID.min(at: hold), at: clock.instant)
          return
        }
        state.pushed += try await push(outcome.missing, in: queue, &state.refused)
      }
      outcome.took = begun.duration(to: clock.instant)
      state.sweep.finish(outcome, of: step, at: clock.instant)
      if wasDraining, !state.sweep.isDraining {
        try await broker.endHold(of: queue)
        // Jobs refused between the last page and the end of the hold.
        if case .oldest(let after, let limit) = step {
          let rest = QueueSweep.Step.oldest(after: ids.last ?? after, limit: limit)
          let late = try await missing(try await self.ids(of: rest, in: queue).0, in: queue)
          state.pushed += try await push(late, in: queue, &state.refused)
        }
      }
      state.isTroubled = false
      tell(queue, &state, wasRestarting: wasRestarting)
    } catch let error as BrokerError {
      // The other queues continue: in a cluster their masters may be up.
      state.sweep.postpone(
        until: clock.instant + min(configuration.heartbeat, configuration.relayInterval) / 2,
        isUnanswered: error.code == .unavailable)
      if !state.isTroubled {
        logger.warning(
          "cannot compare pending jobs with the broker's",
          metadata: [LogKeys.queue: "\(queue)", LogKeys.error: "\(error)"])
      }
      state.isTroubled = true
      guard error.code == .unavailable, await !reachesBroker() else { return }
      try Task.checkCancellation()
      throw BrokerError(
        .unavailable, "the broker answers for none of the queues: another worker may lead", underlying: error)
    }
  }

  /// Whether the broker answers for any queue.
  private func reachesBroker() async -> Bool {
    await withTaskGroup(of: Bool.self) { group in
      for queue in configuration.queues.keys {
        group.addTask {
          do {
            _ = try await missing([JobID.greatest], in: queue)
            return true
          } catch let error as BrokerError {
            // A refusal is an answer, too.
            return error.code != .unavailable
          } catch {
            return false
          }
        }
      }
      defer { group.cancelAll() }
      for await isAnswered in group where isAnswered { return true }
      return false
    }
  }

  /// Those of `ids` that the broker does not know. The limit of a second is far below a connection's own: while the
  /// leader waits, no job of any queue is relayed.
  private func missing(_ ids: [JobID], in queue: QueueName) async throws -> [JobID] {
    try await withThrowingTaskGroup(of: [JobID].self) { group in
      group.addTask { [broker] in try await broker.missing(ids, in: queue) }
      group.addTask {
        try await Task.sleep(for: Self.patience)
        throw BrokerError(.unavailable, "no answer within \(Self.patience)")
      }
      defer { group.cancelAll() }
      guard let answer = try await group.next() else { throw CancellationError() }
      return answer
    }
  }

  private func ids(of step: QueueSweep.Step, in queue: QueueName) async throws -> ([JobID], Duration) {
    let begun = clock.instant
    switch step {
    case .recheck(let ids): return (ids, .zero)
    case .page(let after, let before, let age, let limit):
      let ids = try await ledger.newestPendingIDs(queue: queue, after: after, before: before, age: age, limit: limit)
      return (ids, begun.duration(to: clock.instant))
    case .oldest(let after, let limit):
      return (try await ledger.pendingIDs(queue: queue, after: after, before: .greatest, limit: limit), .zero)
    }
  }

  /// Logs the pushed jobs: in one line at the end of a restart or drain, otherwise step by step.
  private func tell(_ queue: QueueName, _ state: inout Served, wasRestarting: Bool) {
    if state.pushed == 0 || state.sweep.isRestarting || state.sweep.isDraining { return }
    let metadata: Logger.Metadata = [LogKeys.queue: "\(queue)", LogKeys.count: "\(state.pushed)"]
    if wasRestarting {
      logger.notice("pending jobs were unknown to the broker; pushing them again", metadata: metadata)
    } else {
      logger.info("pushing pending jobs again", metadata: metadata)
    }
    state.pushed = 0
  }

  // MARK: Pushing again

  /// - Returns: the number of jobs pushed again.
  private func push(_ ids: [JobID], in queue: QueueName, _ refused: inout Set<JobID>) async throws -> Int {
    // Reads the ledger again: a job settled between the two reads is neither pending nor known. In id order, so that
    // older jobs run first, and one batch of bytes at a time, which usually is all.
    var pushed = 0
    var rest = ids.sorted()[...]
    while !rest.isEmpty {
      let records = try await ledger.records(Array(rest), queue: queue)
      guard let last = records.last?.id else { break }
      pushed += try await push(records, in: queue, &refused)
      rest = rest.drop { $0 <= last }
    }
    return pushed
  }

  private func push(
    _ records: [JobRecord], in queue: QueueName, _ refused: inout Set<JobID>
  ) async throws -> Int {
    var sound: [JobRecord] = []
    var refusals: [JobID: String] = [:]
    for record in records {
      do {
        try record.checkForm()
        sound.append(record)
      } catch {
        refusals[record.id] = error.description
      }
    }
    if !sound.isEmpty { try await broker.repush(sound) }
    relayed[queue]?.increment(by: sound.count)
    try await report(refusals, in: queue, &refused)
    return sound.count
  }

  /// Reports each job that cannot be pushed once: another program wrote its row.
  private func report(_ refusals: [JobID: String], in queue: QueueName, _ refused: inout Set<JobID>) async throws {
    let new = refusals.filter { !refused.contains($0.key) }
    if new.isEmpty { return }
    for (id, reason) in new {
      logger.error(
        "cannot push a pending job; it stays in the ledger",
        metadata: [LogKeys.queue: "\(queue)", LogKeys.job: "\(id)", LogKeys.error: "\(reason)"])
    }
    try await ledger.refuse(new, queue: queue)
    // Beyond this number jobs are reported again, which does no harm.
    if refused.count > 10_000 { refused = [] }
    refused.formUnion(new.keys)
  }

  // MARK: Parked jobs

  /// Unparks jobs that this worker can run, until cancelled. Every worker does this, since each may know different
  /// kinds. The jobs are then old and missing from the broker, so the relay's leader pushes them.
  func unpark() async {
    var isFailing = false
    while !Task.isCancelled {
      do {
        for queue in configuration.queues.keys {
          let count = try await ledger.unpark(queue: queue, kinds: kinds)
          if count > 0 {
            logger.info(
              "parked jobs are pending again", metadata: [LogKeys.queue: "\(queue)", LogKeys.count: "\(count)"])
          }
        }
        isFailing = false
      } catch {
        if Task.isCancelled { return }
        if !isFailing { logger.warning("cannot check parked jobs", metadata: [LogKeys.error: "\(error)"]) }
        isFailing = true
      }
      do { try await clock.sleep(for: configuration.relayInterval) } catch { return }
    }
  }
}

/// The broker's epoch of each of the worker's queues, as of the last heartbeats.
final class Epochs: Sendable {
  private let epochs = Locked<[QueueName: String]>([:])

  var all: [(QueueName, String)] { epochs.withLock { $0.sorted { $0.key < $1.key } } }

  func note(_ epoch: String, of queue: QueueName) { epochs.withLock { $0[queue] = epoch } }
}
