#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import Glibc
import Logging

/// Says once a second what a worker does, and has it do what operators want.
final class Reporter<B: Broker, L: Ledger>: Sendable {
  private let workers: any WorkerRegistry
  private let broker: B
  private let runners: [QueueRunner<B, L>]
  private let configuration: WorkerConfiguration
  private let clock: any WallClock
  private let startedAt: Int64
  private let logger: Logger

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
    startedAt = clock.now.unixMilliseconds
  }

  /// Reports until cancelled, then takes the worker out of the registry.
  func run(until stop: StopSignal) async {
    var (reports, isQuiet, isFailing) = (0, false, false)
    var untold = UntoldMinutes()
    // What the broker remembers of pauses, as far as this worker has told it.
    var remembered: [QueueName: Bool] = [:]
    while !Task.isCancelled {
      reports += 1
      if reports % max(1, configuration.reportsPerCount) == 0 { untold.add(takeMinutes()) }
      do {
        let commands = try await workers.heartbeat(
          report(stop.isStopping ? .stopping : isQuiet ? .quiet : .running, untold.next()))
        untold.confirm()
        isQuiet = commands.isQuiet
        obey(commands, stop)
        await remember(commands, &remembered)
        if isFailing { logger.info("the worker registry answers again") }
        isFailing = false
      } catch {
        if Task.isCancelled { break }
        // As it was last told, so it goes on.
        if !isFailing {
          logger.warning("cannot reach the worker registry", metadata: [LogKeys.error: "\(error)"])
        }
        isFailing = true
        await askBroker()
      }
      do { try await clock.sleep(for: configuration.reportInterval) } catch { break }
    }
    untold.add(takeMinutes())
    await leave(untold)
  }

  /// Keeps in the broker what the registry says of pauses.
  private func remember(_ commands: WorkerCommands, _ remembered: inout [QueueName: Bool]) async {
    for runner in runners {
      let isPaused = commands.pausedQueues.contains(runner.queue)
      // Only changes are written.
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

  /// While the registry is away, a worker that has not heard from it yet does as the broker remembers.
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

  /// A task of its own, since this one is cancelled; it is awaited here, and the registry answers in time or not at
  /// all.
  private func leave(_ untold: UntoldMinutes) async {
    var untold = untold
    let unconfirmed = untold.isUnconfirmed ? report(.stopping, untold.next()) : nil
    untold.confirm()
    let last = report(.stopping, untold.next())
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
    _ state: WorkerReport.State, _ untold: (number: Int64, minutes: [JobMinute])
  ) -> WorkerReport {
    let (now, instant) = (clock.now.unixMilliseconds, clock.instant)
    var running: [WorkerReport.Running] = []
    for runner in runners {
      running += runner.running(at: now, instant, most: WorkerReport.maxRunning - running.count)
    }
    return WorkerReport(
      name: configuration.name, host: configuration.host, pid: getpid(), version: configuration.version,
      startedAt: startedAt, state: state,
      queues: configuration.queues.sorted { $0.key < $1.key }.map {
        WorkerReport.Queue(queue: $0.key, concurrency: $0.value)
      },
      connections: configuration.connections, running: running, minutes: untold.minutes, batch: untold.number,
      lease: configuration.lease)
  }

  private func takeMinutes() -> [JobMinute] {
    let minute = clock.now.unixMilliseconds / 60_000 * 60_000
    return runners.flatMap { runner in
      runner.takeCounts().map { kind, counts in
        JobMinute(minute: minute, queue: runner.queue, kind: kind, counts: counts)
      }
    }
  }
}
