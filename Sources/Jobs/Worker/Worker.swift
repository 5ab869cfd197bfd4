import Logging
import ServiceLifecycle

/// Runs jobs: claims them from a broker, gives them to their handlers, settles how they ended.
///
/// `run()` serves until a graceful shutdown is asked for: then no more is claimed, what runs gets `shutdownLimit` to finish,
/// and the rest is handed back at once, neither lost nor marked failed.
public struct Worker<B: Broker, L: Ledger>: Service {
  private let broker: B
  private let ledger: L
  private let registry: JobRegistry<L>
  private let configuration: WorkerConfiguration
  private let logger: Logger

  public init(
    broker: B, ledger: L, registry: JobRegistry<L>, configuration: WorkerConfiguration, logger: Logger
  ) {
    self.broker = broker
    self.ledger = ledger
    self.registry = registry
    self.configuration = configuration
    var logger = logger
    logger[metadataKey: LogKeys.worker] = "\(configuration.name)"
    self.logger = logger
  }

  public func run() async throws {
    let stop = StopSignal()
    let epochs = Epochs()
    let relay = Relay(
      broker: broker, ledger: ledger, kinds: registry.versions, configuration: configuration, epochs: epochs,
      logger: logger)
    await withTaskCancellationOrGracefulShutdownHandler {
      await withTaskGroup(of: Void.self) { background in
        background.addTask { await relay.run() }
        background.addTask { await relay.unpark() }
        await withTaskGroup(of: Void.self) { group in
          for (queue, slots) in configuration.queues {
            let runner = QueueRunner(
              queue: queue, slots: slots, broker: broker, ledger: ledger, registry: registry,
              configuration: configuration, epochs: epochs, logger: logger)
            group.addTask { await runner.run(until: stop) }
          }
        }
        background.cancelAll()
      }
    } onCancelOrGracefulShutdown: {
      stop.stop()
    }
  }
}
