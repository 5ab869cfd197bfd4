#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Glibc
import Locking
import Logging

/// Reports a worker's status every second, and carries out operators' commands.
final class Reporter<B: Broker, L: Ledger>: Sendable {
  private let workers: any WorkerRegistry
  private let broker: B
  private let runners: [QueueRunner<B, L>]
  private let configuration: WorkerConfiguration
  private let clock: any WallClock
  private let startedAt: Date
  private let logger: Logger
  /// The paused queues in the registry's last response; nil before the first.
  private let pausedQueues = Locked<Set<QueueName>?>(nil)

  init(
    workers: any WorkerRegistry, broker: B, runners: [QueueRunner<B, L>], configuration: WorkerConfiguration,
    logger: Logger
  ) {
    self.broker = broker
    self.workers = workers
    self.runners = runners
    self.configuration = configuration
    clock = configuration.clock
    self.logger = logger
    startedAt = clock.now
  }

  /// Reports until cancelled, then removes the worker from the registry.
  ///
  /// A separate task stores pauses in the broker, so that a broker that does not answer delays no report.
  func run(until stop: StopSignal) async {
    await withDiscardingTaskGroup { group in
      group.addTask { await self.rememberPauses() }
      await sendReports(until: stop)
      group.cancelAll()
    }
  }

  private func sendReports(until stop: StopSignal) async {
    var (reports, isQuiet, isFailing) = (0, false, false)
    var pending = PendingMinutes()
    while !Task.isCancelled {
      reports += 1
      if reports % max(1, configuration.reportsPerCount) == 0 { pending.add(takeMinutes()) }
      do {
        let commands = try await workers.heartbeat(
          report(stop.isStopping ? .stopping : isQuiet ? .quiet : .running, pending.next()))
        pending.confirm()
        isQuiet = commands.isQuiet
        obey(commands, stop)
        if isFailing { logger.info("the worker registry answers again") }
        isFailing = false
      } catch {
        if Task.isCancelled { break }
        // The worker keeps following the last commands.
        if !isFailing {
          logger.warning("cannot reach the worker registry", metadata: [LogKeys.error: "\(error)"])
        }
        isFailing = true
        await askBroker()
      }
      do { try await clock.sleep(for: configuration.reportInterval) } catch { break }
    }
    pending.add(takeMinutes())
    await leave(pending)
  }

  /// Stores the registry's pauses in the broker until cancelled.
  private func rememberPauses() async {
    // Only changes are written.
    var remembered: [QueueName: Bool] = [:]
    while !Task.isCancelled {
      if let paused = pausedQueues.withLock({ $0 }) {
        for runner in runners {
          let isPaused = paused.contains(runner.queue)
          if remembered[runner.queue] == isPaused { continue }
          do {
            try await broker.rememberPause(isPaused, of: runner.queue)
            remembered[runner.queue] = isPaused
          } catch {
            logger.debug(
              "cannot report pauses to the broker yet",
              metadata: [LogKeys.queue: "\(runner.queue)", LogKeys.error: "\(error)"])
          }
        }
      }
      do { try await clock.sleep(for: configuration.reportInterval) } catch { return }
    }
  }

  /// While the registry is unavailable, a worker that has not heard from it uses the pauses stored in the broker.
  private func askBroker() async {
    for runner in runners where runner.awaitsState {
      do {
        runner.pause(try await broker.remembersPause(of: runner.queue))
      } catch {
        logger.warning(
          "cannot tell whether the queue is paused; claiming nothing",
          metadata: [LogKeys.queue: "\(runner.queue)", LogKeys.error: "\(error)"])
      }
    }
  }

  /// Uses a new task, since the current one is cancelled. The task is awaited here, and the registry's own limits bound
  /// it.
  private func leave(_ pending: PendingMinutes) async {
    var pending = pending
    let unconfirmed = pending.isUnconfirmed ? report(.stopping, pending.next()) : nil
    pending.confirm()
    let last = report(.stopping, pending.next())
    await Task { [workers, logger] in
      do {
        if let unconfirmed { _ = try await workers.heartbeat(unconfirmed) }
        try await workers.leave(last)
      } catch {
        logger.warning(
          "cannot leave the worker registry; the worker will soon count as lost", metadata: [LogKeys.error: "\(error)"])
      }
    }.value
  }

  private func obey(_ commands: WorkerCommands, _ stop: StopSignal) {
    pausedQueues.withLock { $0 = commands.pausedQueues }
    for runner in runners {
      runner.pause(commands.isPaused(runner.queue))
      if !commands.cancelled.isEmpty { runner.cancel(commands.cancelled) }
    }
    if commands.isStopped, !stop.isStopping {
      logger.notice("an operator asked the worker to stop")
      stop.stop()
    }
  }

  private func report(
    _ state: WorkerReport.State, _ pending: (number: Int64, minutes: [JobMinute])
  ) -> WorkerReport {
    let (now, instant) = (clock.now, clock.instant)
    var running: [WorkerReport.Running] = []
    for runner in runners {
      running += runner.running(at: now, instant, limit: WorkerReport.maxRunning - running.count)
    }
    return WorkerReport(
      name: configuration.name, host: configuration.host, pid: getpid(), version: configuration.version,
      startedAt: startedAt, state: state,
      queues: configuration.queues.sorted { $0.key < $1.key }.map {
        WorkerReport.Queue(queue: $0.key, concurrency: $0.value)
      },
      connections: configuration.connections, running: running, minutes: pending.minutes, batch: pending.number,
      lease: configuration.lease)
  }

  private func takeMinutes() -> [JobMinute] {
    let minute = Date(unixMilliseconds: clock.now.unixMilliseconds / 60_000 * 60_000)
    return runners.flatMap { runner in
      runner.takeCounts().map { kind, counts in
        JobMinute(minute: minute, queue: runner.queue, kind: kind, counts: counts)
      }
    }
  }
}
