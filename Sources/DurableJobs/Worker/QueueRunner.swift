#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Logging

/// One worker's work on one queue: a claim loop, processors, a settle loop, and a separate heartbeat. It owns their
/// tasks and does their I/O; `QueueState` decides.
final class QueueRunner<B: Broker, L: Ledger>: Sendable {
  let queue: QueueName
  private let kinds: [JobKind]
  private let concurrency: Int
  private let broker: B
  private let ledger: L
  private let configuration: WorkerConfiguration
  private let state: SharedQueueState
  private let executor: JobExecutor<B, L>
  private let epochs: Epochs
  private let logger: Logger
  private var clock: any WallClock { configuration.clock }

  /// - Parameters:
  ///   - concurrency: how many jobs run at once.
  ///   - holds: initial reasons not to claim.
  init(
    queue: QueueName, concurrency: Int, broker: B, ledger: L, registry: JobRegistry<L>,
    configuration: WorkerConfiguration, epochs: Epochs, holds: QueueState.Holds = [], logger: Logger
  ) {
    self.queue = queue
    self.concurrency = concurrency
    self.broker = broker
    self.ledger = ledger
    self.configuration = configuration
    self.epochs = epochs
    var logger = logger
    logger[metadataKey: LogKeys.queue] = "\(queue)"
    self.logger = logger
    kinds = registry.kinds
    state = SharedQueueState(
      QueueState(
        concurrency: concurrency, kinds: KindTable(registry), assumed: configuration.assumedJobTime, holds: holds))
    executor = JobExecutor(
      queue: queue, worker: configuration.name, registry: registry,
      client: JobClient(
        broker: broker, ledger: ledger, middleware: configuration.middleware, clock: configuration.clock, logger: logger
      ),
      logger: logger)
  }

  func run(until stop: StopSignal) async {
    guard let consumer = await join(until: stop) else { return }
    let preferred = broker.executor
    await withTaskGroup(of: Void.self) { background in
      let heartbeat = HeartbeatLoop(
        queue: queue, consumer: consumer, configuration: configuration, epochs: epochs, state: state, logger: logger)
      let marks = BeginMarks(consumer: consumer, state: state, interval: tickInterval, clock: clock, logger: logger)
      background.addTask(executorPreference: preferred) { await heartbeat.run() }
      background.addTask(executorPreference: preferred) { await marks.run() }
      background.addTask { await self.tick() }
      background.addTask { await self.obeyOrders(consumer) }
      background.addTask {
        await stop.wait()
        self.state.update { $0.stop() }
      }
      await withTaskGroup(of: Void.self) { settling in
        let settler = Settler(queue: queue, ledger: ledger, consumer: consumer, clock: clock, logger: logger)
        settling.addTask(executorPreference: preferred) {
          while let batch = await self.state.unsettled() { await settler.settle(batch, until: stop) }
        }
        settling.addTask { await self.executor.payloads.run() }
        await work(consumer, marks, stop)
        executor.payloads.close()
        state.update { $0.finish() }
      }
      background.cancelAll()
    }
    do {
      try await consumer.leave()
    } catch {
      logger.warning(
        "cannot leave the queue; its claims are redelivered when the lease expires",
        metadata: [LogKeys.error: "\(error)"])
    }
  }

  /// Joins the queue, retrying while the broker is unavailable.
  private func join(until stop: StopSignal) async -> B.Consumer? {
    var backoff = Backoff()
    while !stop.isStopping {
      do {
        return try await broker.join(queue, worker: configuration.name, lease: configuration.lease)
      } catch {
        if backoff.isNews(clock) { logger.error("cannot join the queue", metadata: [LogKeys.error: "\(error)"]) }
        await backoff.pause(until: stop, clock)
      }
    }
    return nil
  }

  // MARK: Claim and run

  /// Claims and runs jobs until the stop; cancels those that still run after the shutdown limit.
  private func work(_ consumer: B.Consumer, _ marks: BeginMarks<B.Consumer>, _ stop: StopSignal) async {
    await withTaskGroup(of: Bool.self) { group in
      group.addTask(executorPreference: broker.executor) {
        await self.claim(consumer, stop)
        return false
      }
      for processor in 0..<concurrency {
        group.addTask {
          await self.state.run(processor) { await self.process(processor, marks, stop) }
          return false
        }
      }
      group.addTask { [shutdownLimit = configuration.shutdownLimit, clock] in
        await stop.wait()
        do { try await clock.sleep(for: shutdownLimit) } catch { return false }
        return true
      }
      // The limit's task may outlive the work: it is cancelled once the others have ended.
      var left = concurrency + 1
      for await isPastLimit in group {
        if isPastLimit {
          logger.warning("jobs are still running after the shutdown limit; cancelling and handing them back")
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
    while !stop.isStopping, let room = await state.room() {
      do {
        let claims = try await consumer.claim(room, wait: .seconds(5))
        backoff.reset()
        if claims.isEmpty { continue }
        let done = await done(of: claims)
        state.update { $0.claimed(claims, done: done) }
      } catch {
        if stop.isStopping { return }
        if backoff.isNews(clock) { logger.error("cannot claim jobs", metadata: [LogKeys.error: "\(error)"]) }
        await backoff.pause(until: stop, clock)
      }
    }
  }

  /// Redelivered jobs that are already done. Skipping them avoids repeating their handlers' outside effects.
  private func done(of claims: [Claim]) async -> Set<JobID> {
    let doubtful = claims.filter { $0.record.isDurable && ($0.attempt > 1 || $0.isRedelivered) }.map(\.record.id)
    if doubtful.isEmpty { return [] }
    state.update { state in
      state.received(claims)
      return []
    }
    do {
      return Set(doubtful).subtracting(try await ledger.pending(doubtful, queue: queue))
    } catch {
      // The transaction that ends a job notices by itself; only work is wasted.
      logger.warning("cannot read pending jobs from the ledger", metadata: [LogKeys.error: "\(error)"])
      return []
    }
  }

  /// Runs one item after another on a processor.
  ///
  /// - Returns: false if the processor needs a new task, because this one was cancelled.
  private func process(_ processor: Int, _ marks: BeginMarks<B.Consumer>, _ stop: StopSignal) async -> Bool {
    var now = clock.moment
    var turn = state.turn(of: processor, at: now)
    while true {
      switch turn {
      case .run(let item):
        let outcomes = await executor.run(item) { state.update { ($0.returned(processor), []) } }
        let end = clock.moment
        executor.report(outcomes, of: item, from: now, to: end)
        now = end
        turn = state.ended(processor, outcomes, at: now)
      case .mark(let item):
        let own = await marks.begin(item.claims, until: stop)
        now = clock.moment
        turn = state.update { [now] in $0.marked(processor, own: own, at: now) }
      case .wait:
        await state.wait(processor)
        now = clock.moment
        turn = state.turn(of: processor, at: now)
      case .restart: return false
      case .stop: return true
      }
    }
  }

  // MARK: Orders

  /// Sends the state's orders to the broker.
  private func obeyOrders(_ consumer: B.Consumer) async {
    for await order in state.orders {
      switch order {
      case .wakeClaim: await consumer.wakeClaim()
      case .stopClaiming: await consumer.stopClaiming()
      case .release(let claims):
        do {
          try await consumer.release(claims)
          state.update { state in
            state.released(claims)
            return []
          }
        } catch {
          logger.warning(
            "cannot hand claims back yet; retrying", metadata: [LogKeys.error: "\(error)"])
          state.update { $0.notReleased(claims) }
        }
      }
    }
  }

  /// Runs apart from the heartbeat, so that time limits hold even if the broker keeps that waiting.
  private func tick() async {
    while !Task.isCancelled {
      state.update { $0.tick(clock.instant) }
      do { try await clock.sleep(for: tickInterval) } catch { return }
    }
  }

  private var tickInterval: Duration { min(configuration.heartbeat, .milliseconds(250)) }

  /// Pauses or resumes claiming. A worker with a registry claims nothing until the first call.
  func pause(_ isPaused: Bool) {
    if isPaused {
      let isNew = state.update { $0.hold(.paused, insteadOf: .unknown) }
      if isNew { logger.notice("the queue is paused: claiming nothing from it") }
    } else {
      let lifted = state.update { $0.lift([.paused, .unknown]) }
      if lifted.contains(.paused) { logger.notice("the queue is resumed: claiming from it again") }
    }
  }

  /// Whether it is still unknown if the queue is paused.
  var awaitsState: Bool { state.read { $0.holds.contains(.unknown) } }

  /// Stops claiming and hands back claims that have not begun while the ledger is silent.
  func ledgerIsSilent(_ isSilent: Bool) {
    if isSilent {
      let isNew = state.update { $0.hold(.silence) }
      if isNew { logger.warning("the ledger does not answer: claiming nothing until it does") }
    } else {
      let lifted = state.update { $0.lift(.silence) }
      if !lifted.isEmpty { logger.notice("the ledger answers again") }
    }
  }

  /// Cancels the running jobs of `ids`; those that have not begun never do.
  func cancel(_ ids: Set<JobID>) { state.update { $0.cancel(ids) } }

  // MARK: Report

  /// The running jobs.
  ///
  /// - Parameters:
  ///   - now: the time of `instant`, in milliseconds since 1970.
  ///   - most: the maximum number of jobs.
  func running(at now: Date, _ instant: ContinuousClock.Instant, limit: Int) -> [WorkerReport.Running] {
    var named: [WorkerReport.Running] = []
    for (item, since) in state.read({ $0.running }) {
      let began = now.addingTimeInterval(-((instant - since) / .seconds(1)))
      for claim in item.claims.prefix(limit - named.count) {
        named.append(
          WorkerReport.Running(
            id: claim.record.id, kind: claim.record.kind, queue: queue, attempt: claim.attempt, since: began))
      }
    }
    return named
  }

  /// The counts since the last call.
  func takeCounts() -> [(JobKind, JobCounts)] {
    let counts = state.update { ($0.takeCounts(), []) }
    return zip(kinds, counts).filter { !$0.1.isEmpty }
  }
}
