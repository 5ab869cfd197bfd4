import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import DurableJobsTesting
import Foundation
import HiredisClient
import Instrumentation
import LibPQClient
import Logging
import OTLPTracing
import Reactor
import ServiceLifecycle
import UnixSignals

/// The benchmark as a worker process, whose memory and CPU time are only a worker's.
enum WorkerChild {
  /// The number of jobs of a queue that run at once, the same as Sidekiq's threads.
  static let concurrency = 10

  struct Options: Sendable {
    var redis = ""
    var postgres: String?
    /// Spans go there; nil for none.
    var collector: String?
    var board = ""
    var queues: [QueueName] = []

    init(_ arguments: [String]) throws {
      var rest = arguments[...]
      while let name = rest.popFirst() {
        guard let value = rest.popFirst() else { throw UsageError("\(name) takes a value") }
        switch name {
        case "--redis": redis = value
        case "--postgres": postgres = value
        case "--collector": collector = value
        case "--board": board = value
        case "--queue": queues.append(QueueName(rawValue: value))
        default: throw UsageError("unknown argument \(name)")
        }
      }
    }
  }

  /// Serves until SIGTERM.
  static func run(_ options: Options) async throws {
    var logger = Logger(label: "worker") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = .warning
    let log = logger
    let board = try Board(path: options.board)
    let loop = EventLoop()
    let client = RedisClient(configuration: try RedisConfiguration(url: options.redis), loop: loop, logger: logger)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await client.run() }
      let broker = try await RedisBroker(client: client, logger: log)
      if let url = options.postgres {
        let pool = PostgresPool(
          configuration: try PostgresConfiguration(url: url), size: 10, loop: loop, logger: log)
        group.addTask { await pool.run() }
        try await serve(PostgresLedger(pool: pool), broker, options, board, log)
      } else {
        try await serve(InMemoryLedger(), broker, options, board, log)
      }
      group.cancelAll()
    }
  }

  private static func serve<L: Ledger>(
    _ ledger: L, _ broker: RedisBroker, _ options: Options, _ board: Board, _ logger: Logger
  ) async throws {
    var registry = JobRegistry<L>()
    registry.register(NoOp.self) { _, _ in board.count() }
    registry.register(Timed.self) { job, _ in
      board.sample(SharedClock.now - job.at)
      board.count()
    }
    registry.register(Nap.self) { job, _ in
      try await Task.sleep(for: .milliseconds(job.milliseconds), tolerance: .zero)
      board.count()
    }
    let queues = Dictionary(uniqueKeysWithValues: options.queues.map { ($0, concurrency) })
    var configuration = WorkerConfiguration(queues: queues)
    guard let collector = options.collector, let endpoint = OTLPEndpoint(url: collector) else {
      let worker = Worker(
        broker: broker, ledger: ledger, registry: registry, configuration: configuration, logger: logger)
      board.setReady()
      return try await ServiceGroup(services: [worker], gracefulShutdownSignals: [.sigterm], logger: logger).run()
    }
    configuration.middleware.append(JobTracing())
    let traced = Worker(
      broker: broker, ledger: ledger, registry: registry, configuration: configuration, logger: logger)
    try await OTLPTracer.with(.init(service: "bench", version: "1"), sendingTo: endpoint, logger: logger) { tracer in
      InstrumentationSystem.bootstrap(tracer)
      board.setReady()
      try await ServiceGroup(services: [tracer, traced], gracefulShutdownSignals: [.sigterm], logger: logger).run()
    }
  }
}
