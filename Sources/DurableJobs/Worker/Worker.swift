import Logging
import ServiceLifecycle

/// A service that may end by itself, in order, because it was asked to; the process then ends with it.
public protocol SelfEndingService: Service {}

/// Runs jobs: claims them from a broker, calls their handlers, settles their outcomes.
///
/// `run()` runs until a graceful shutdown is requested, or until an operator stops the worker through its registry. It
/// then claims no more jobs, gives running ones `shutdownLimit` to finish, and hands back the rest at once, neither
/// lost nor failed.
public struct Worker<B: Broker, L: Ledger>: SelfEndingService {
  private let broker: B
  private let ledger: L
  private let registry: JobRegistry<L>
  private let configuration: WorkerConfiguration
  private let workers: (any WorkerRegistry)?
  private let logger: Logger

  /// - Parameter workers: where it reports its status and receives operators' commands; nil for none.
  public init(
    broker: B, ledger: L, registry: JobRegistry<L>, configuration: WorkerConfiguration,
    workers: (any WorkerRegistry)? = nil, logger: Logger
  ) {
    self.workers = workers
    self.broker = broker
    self.ledger = ledger
    self.registry = registry
    self.configuration = configuration
    var logger = logger
    logger[metadataKey: LogKeys.worker] = "\(configuration.name)"
    self.logger = logger
  }

  /// - Throws: `KindRegisteredTwice`.
  public func run() async throws {
    try registry.check()
    let stop = StopSignal()
    let epochs = Epochs()
    let relay = Relay(
      broker: broker, ledger: ledger, kinds: registry.versions, configuration: configuration, epochs: epochs,
      logger: logger)
    let runners = configuration.queues.map { queue, concurrency in
      QueueRunner(
        queue: queue, concurrency: concurrency, broker: broker, ledger: ledger, registry: registry,
        configuration: configuration, epochs: epochs, holds: workers == nil ? [] : .unknown, logger: logger)
    }
    let watch = LedgerWatch(ledger: ledger, runners: runners, logger: logger)
    let reporter = workers.map { workers in
      Reporter(
        workers: workers, broker: broker, runners: runners, configuration: configuration, logger: logger)
    }
    await withTaskCancellationOrGracefulShutdownHandler {
      // Awaited below, and no child task: a cancelled worker still reports until its last job has ended.
      let reporting = Task { await reporter?.run(until: stop) }
      await withTaskGroup(of: Void.self) { background in
        background.addTask { await relay.run() }
        background.addTask { await relay.unpark() }
        background.addTask { await watch.run() }
        await withTaskGroup(of: Void.self) { group in
          for runner in runners { group.addTask { await runner.run(until: stop) } }
        }
        background.cancelAll()
      }
      reporting.cancel()
      await reporting.value
    } onCancelOrGracefulShutdown: {
      stop.stop()
    }
  }
}
