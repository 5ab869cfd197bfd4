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
/// It is built from public parts (`RedisBroker`, `PostgresLedger`, `Worker`, `Scheduler`, `JobClient`): if one does not
/// fit, assemble them yourself.
public struct JobService: Sendable {
  public typealias Registry = JobRegistry<PostgresLedger>
  public typealias Client = JobClient<RedisBroker, PostgresLedger>

  /// An hourly job that deletes expired rows of the queue's tables.
  private static let sweep = LedgerSweep(
    endedDays: 7, dead: LedgerSweep.Limit(days: 90, rows: 100_000), actions: LedgerSweep.Limit(days: 90, rows: 100_000))

  public var redis: RedisConfiguration
  public var postgres: PostgresConfiguration
  public var registry: Registry
  public var schedules: [Schedule]
  /// The worker's settings, such as its queues with their concurrency, and its middleware.
  public var worker: WorkerConfiguration
  /// The Postgres schema of the queue's tables.
  public var schema = JobsSchema.standard
  /// The prefix of the queue's keys in Redis, so that several apps can share a server.
  public var prefix = "jobs"
  public var logger: Logger

  /// - Parameters:
  ///   - redis: such as `redis://127.0.0.1:6379`.
  ///   - postgres: such as `postgres://user:password@127.0.0.1:5432/shop`.
  ///   - schedules: the same in every process with this service; each tick fires once.
  /// - Throws: an error that says what is wrong with a URL.
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

  /// The connected parts, for code that needs more than a client.
  public struct Parts: Sendable {
    public let broker: RedisBroker
    public let database: JobsDatabase
    public let client: Client
  }

  /// Migrates the queue's schema, then runs jobs until SIGTERM or SIGINT. It then stops claiming, lets running jobs
  /// finish, and hands back the rest.
  ///
  /// - Parameter more: services that run beside the worker, such as a web server, and stop before it.
  /// - Throws: `JobsSchemaError`, `BrokerError`, `KindRegisteredTwice`, or an error of the servers' clients.
  public func run(beside more: @Sendable (Parts) throws -> [any Service] = { _ in [] }) async throws {
    try await withParts { parts in
      let clock = LedgerClockService(pool: parts.database.pool, logger: logger)
      let services: [any Service] = [clock, worker(parts), try scheduler(parts)] + (try more(parts))
      var configuration = ServiceGroupConfiguration(
        services: services.map { .init(service: $0) }, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
      // The worker enforces the limit itself; this is for a server that does not answer it.
      configuration.maximumGracefulShutdownDuration = worker.shutdownLimit + .seconds(5)
      try await ServiceGroup(configuration: configuration).run()
    }
  }

  /// Runs `body` with a client that enqueues, without a worker. Migrates the schema first.
  @discardableResult
  public func withClient<Result: Sendable>(
    _ body: @Sendable (Client) async throws -> Result
  ) async throws -> Result {
    try await withParts { try await body($0.client) }
  }

  /// Runs `body` with the connected parts, without a worker.
  ///
  /// - Parameter migrates: whether to migrate the schema first.
  @discardableResult
  public func withParts<Result: Sendable>(
    migrating migrates: Bool = true, _ body: @Sendable (Parts) async throws -> Result
  ) async throws -> Result {
    try await withPool { pool, loop in
      if migrates { try await migrate(pool) }
      let redis = RedisClient(configuration: redis, loop: loop, logger: logger)
      return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await redis.run() }
        defer { group.cancelAll() }
        let broker = try await RedisBroker(client: redis, prefix: prefix, logger: logger)
        let database = JobsDatabase(pool: pool, schema: schema)
        let client = Client(
          broker: broker, ledger: PostgresLedger(database), middleware: worker.middleware, logger: logger)
        return try await body(Parts(broker: broker, database: database, client: client))
      }
    }
  }

  /// Runs `body` with Postgres only.
  @discardableResult
  public func withDatabase<Result: Sendable>(
    _ body: @Sendable (JobsDatabase) async throws -> Result
  ) async throws -> Result {
    try await withPool { pool, _ in try await body(JobsDatabase(pool: pool, schema: schema)) }
  }

  // MARK: Parts

  private func worker(_ parts: Parts) -> Worker<RedisBroker, PostgresLedger> {
    var registry = registry
    if registry.entries[LedgerSweep.kind] == nil { registry.register(LedgerSweep.self, handler: LedgerSweep.run) }
    return Worker(
      broker: parts.broker, ledger: parts.client.ledger, registry: registry, configuration: worker,
      workers: PostgresWorkerRegistry(parts.database), logger: logger)
  }

  private func scheduler(
    _ parts: Parts
  ) throws -> Scheduler<RedisBroker, PostgresLedger, PostgresScheduleStore> {
    var schedules = schedules
    if !schedules.contains(where: { $0.kind == LedgerSweep.kind }) {
      schedules.append(Schedule("ledger.sweep", try .every(.hours(1))) { _ in Self.sweep })
    }
    return try Scheduler(
      schedules, client: parts.client, store: PostgresScheduleStore(parts.database), logger: logger)
  }

  private func migrate(_ pool: PostgresPool) async throws {
    do {
      try await JobsSchema.migrate(pool, schema: schema.name)
    } catch let error as JobsSchemaError where error.code == .newer {
      // Programs of the next version also serve it, as during a rolling deploy.
      logger.notice("the queue's schema is newer than this program", metadata: [LogKeys.error: "\(error)"])
    }
  }

  private func withPool<Result: Sendable>(
    _ body: @Sendable (PostgresPool, EventLoop) async throws -> Result
  ) async throws -> Result {
    let loop = EventLoop(name: "jobs")
    defer { loop.stop() }
    var configuration = postgres
    // By this name, other workers end the sessions of one that is lost.
    configuration.applicationName = worker.name
    let pool = PostgresPool(
      configuration: configuration, size: WorkerConnections.pool(for: worker.queues.values.reduce(0, +)), loop: loop,
      logger: logger)
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await pool.run() }
      defer { group.cancelAll() }
      // All dates of the process are by Postgres' clock from the start.
      _ = try await LedgerClock.measure(pool)
      return try await body(pool, loop)
    }
  }
}

/// Keeps the process's time at Postgres'.
private struct LedgerClockService: Service {
  let pool: PostgresPool
  let logger: Logger

  func run() async throws { await cancelWhenGracefulShutdown { await LedgerClock.follow(pool, logger: logger) } }
}
