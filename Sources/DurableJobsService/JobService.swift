import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import HiredisClient
import LibPQClient
import Logging
import Reactor
import ServiceLifecycle
import UnixSignals

/// A worker and its scheduler on Redis and Postgres, from two URLs and a registry.
///
/// ```swift
/// var jobs = JobService.Registry()
/// jobs.register(SendReceipt.self) { job, context in … }
/// try await JobService(redis: "redis://127.0.0.1", postgres: "postgres://127.0.0.1/shop", registry: jobs).run()
/// ```
/// It is put together from public parts: where one does not fit, write what `serve` does with another.
public struct JobService: Sendable {
  public typealias Registry = JobRegistry<PostgresLedger>
  public typealias Client = JobClient<RedisBroker, PostgresLedger>

  /// A job that deletes what the queue's tables no longer need, every hour.
  private static let sweep = LedgerSweep(
    endedDays: 7, dead: LedgerSweep.Limit(days: 90, rows: 100_000), actions: LedgerSweep.Limit(days: 90, rows: 100_000))

  public var redis: RedisConfiguration
  public var postgres: PostgresConfiguration
  public var registry: Registry
  public var schedules: [Schedule]
  /// How the worker works: its queues, each with its concurrency, and its middleware.
  public var worker: WorkerConfiguration
  /// The Postgres schema of the queue's tables.
  public var schema = JobsSchema.standard
  /// The first part of the queue's keys in Redis, so that several apps share a server.
  public var prefix = "jobs"
  public var logger: Logger

  /// - Parameters:
  ///   - redis: such as `redis://127.0.0.1:6379`.
  ///   - postgres: such as `postgres://user:password@127.0.0.1:5432/shop`.
  ///   - schedules: ones that every process with this service knows; each tick fires once.
  /// - Throws: what is wrong with a URL.
  public init(
    redis: String, postgres: String, registry: Registry, schedules: [Schedule] = [],
    logger: Logger = Logger(label: "jobs")
  ) throws {
    self.redis = try RedisConfiguration(url: redis)
    self.postgres = try PostgresConfiguration(url: postgres)
    self.registry = registry
    self.schedules = schedules
    self.logger = logger
    let queues = Set(registry.queues).union([QueueName.default])
    worker = WorkerConfiguration(queues: Dictionary(uniqueKeysWithValues: queues.map { ($0, 16) }))
  }

  /// Migrates the queue's schema, then runs jobs until SIGTERM or SIGINT: no more is claimed then, running jobs may
  /// finish, and the rest is handed back.
  ///
  /// - Throws: `JobsSchemaError`, `BrokerError`, `KindRegisteredTwice`; what the servers' clients throw.
  public func run() async throws {
    try await withServers { broker, pool in
      let worker = worker(broker, pool)
      let scheduler = try scheduler(broker, pool)
      try await ServiceGroup(
        services: [worker, scheduler], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger
      ).run()
    }
  }

  /// Runs `body` with a client that enqueues, without a worker. The schema is migrated first.
  public func withClient<Result: Sendable>(
    _ body: @Sendable (Client) async throws -> Result
  ) async throws -> Result {
    try await withServers { broker, pool in try await body(client(broker, pool)) }
  }

  // MARK: Parts

  private func client(_ broker: RedisBroker, _ pool: PostgresPool) -> Client {
    JobClient(
      broker: broker, ledger: PostgresLedger(pool: pool, schema: schema), middleware: worker.middleware, logger: logger)
  }

  private func worker(_ broker: RedisBroker, _ pool: PostgresPool) -> Worker<RedisBroker, PostgresLedger> {
    var registry = registry
    if registry.entries[LedgerSweep.kind] == nil { registry.register(LedgerSweep.self, handler: LedgerSweep.run) }
    return Worker(
      broker: broker, ledger: PostgresLedger(pool: pool, schema: schema), registry: registry, configuration: worker,
      workers: PostgresWorkerRegistry(pool: pool, schema: schema), logger: logger)
  }

  private func scheduler(
    _ broker: RedisBroker, _ pool: PostgresPool
  ) throws -> Scheduler<RedisBroker, PostgresLedger, PostgresScheduleStore> {
    var schedules = schedules
    if !schedules.contains(where: { $0.kind == LedgerSweep.kind }) {
      schedules.append(try Schedule("ledger.sweep", .every(.hours(1))) { _ in Self.sweep })
    }
    return try Scheduler(
      schedules, client: client(broker, pool), store: PostgresScheduleStore(pool: pool, schema: schema), logger: logger)
  }

  /// The servers, connected for as long as `body` runs.
  private func withServers<Result: Sendable>(
    _ body: @Sendable (RedisBroker, PostgresPool) async throws -> Result
  ) async throws -> Result {
    let loop = EventLoop(name: "jobs")
    defer { loop.stop() }
    let redis = RedisClient(configuration: redis, loop: loop, logger: logger)
    let pool = PostgresPool(
      configuration: postgres, size: WorkerConnections.pool(for: worker.queues.values.reduce(0, +)), loop: loop,
      logger: logger)
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await redis.run() }
      group.addTask { await pool.run() }
      defer { group.cancelAll() }
      do {
        try await JobsSchema.migrate(pool, schema: schema.name)
      } catch let error as JobsSchemaError where error.code == .newer {
        // Programs of the next version serve it too, as in a deploy one by one.
        logger.notice("the queue's schema is newer than this program", metadata: [LogKeys.error: "\(error)"])
      }
      return try await body(try await RedisBroker(client: redis, prefix: prefix, logger: logger), pool)
    }
  }
}
