import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import HiredisClient
import LibPQClient
import Logging
import PrivateServers
import Reactor
import ServiceLifecycle
import TestSupport
import Testing
import UnixSignals

// The code of the article GettingStarted in Sources/DurableJobs/DurableJobs.docc, verbatim: ArticleTests compares.

struct SendReceipt: Job {
  static let kind: JobKind = "orders.receipt"
  var order: Int64
}

private enum Shop {
  static func migrate(_ postgres: PostgresPool) async throws {
    try await JobsSchema.migrate(postgres, schema: "jobs")
  }

  static func registry() -> JobRegistry<PostgresLedger> {
    var registry = JobRegistry<PostgresLedger>()
    registry.register(SendReceipt.self) { job, context in
      try await context.transaction { tx in
        try await tx.sql.execute("UPDATE orders SET receipts = receipts + 1 WHERE id = \(job.order)")
      }
    }
    registry.register(LedgerSweep.self, handler: LedgerSweep.run)
    return registry
  }

  static func withServers(
    redis redisURL: String, postgres postgresURL: String, logger: Logger,
    _ body: (RedisBroker, PostgresPool) async throws -> Void
  ) async throws {
    let loop = EventLoop(name: "shop")
    defer { loop.stop() }
    let redis = RedisClient(configuration: try RedisConfiguration(url: redisURL), loop: loop, logger: logger)
    let postgres = PostgresPool(
      configuration: try PostgresConfiguration(url: postgresURL), size: WorkerConnections.pool(for: 16), loop: loop,
      logger: logger)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await redis.run() }
      group.addTask { await postgres.run() }
      defer { group.cancelAll() }
      try await body(try await RedisBroker(client: redis, prefix: "shop", logger: logger), postgres)
    }
  }

  static func placeOrder(
    customer: String, _ jobs: JobClient<RedisBroker, PostgresLedger>
  ) async throws -> Int64 {
    try await jobs.transaction { tx in
      let rows = try await tx.sql.query("INSERT INTO orders (customer) VALUES (\(customer)) RETURNING id")
      let order = try rows[0].decode(Int64.self)
      try await tx.enqueue(SendReceipt(order: order))
      return order
    }
  }

  static func work(_ broker: RedisBroker, _ postgres: PostgresPool, logger: Logger) async throws {
    let ledger = PostgresLedger(pool: postgres)
    let worker = Worker(
      broker: broker, ledger: ledger, registry: registry(), configuration: WorkerConfiguration(queues: [.default: 16]),
      workers: PostgresWorkerRegistry(pool: postgres), logger: logger)
    let scheduler = try Scheduler(
      [Schedule("ledger.sweep", try .every(.seconds(3600))) { _ in LedgerSweep(endedDays: 7) }],
      client: JobClient(broker: broker, ledger: ledger, logger: logger),
      store: PostgresScheduleStore(pool: postgres), logger: logger)
    try await ServiceGroup(
      services: [worker, scheduler], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger
    ).run()
  }
}

@Suite(.timeLimit(.minutes(5))) struct GettingStartedExamples {
  @Test func anOrderIsPlacedAndItsReceiptIsSentOnce() async throws {
    let redis = try await SharedServers.redis().url
    let database = try await SharedServers.freshDatabase()
    try await Shop.withServers(redis: redis, postgres: database, logger: .quiet) { broker, postgres in
      try await Shop.migrate(postgres)
      try await postgres.execute(
        """
        CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer text NOT NULL,
          receipts integer NOT NULL DEFAULT 0)
        """)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await Shop.work(broker, postgres, logger: .quiet) }
        let jobs = JobClient(broker: broker, ledger: PostgresLedger(pool: postgres), logger: .quiet)
        let order = try await Shop.placeOrder(customer: "ada", jobs)
        try await eventually("the receipt is sent") {
          try await postgres.query("SELECT receipts FROM orders WHERE id = \(order)")[0].decode(Int.self) == 1
        }
        try await eventually("what was done is counted") {
          try await postgres.query("SELECT sum(completed)::bigint FROM jobs.job_hours")[0].decode(Int?.self) == 1
        }
        group.cancelAll()
      }
    }
  }
}
