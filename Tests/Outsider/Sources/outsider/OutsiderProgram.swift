import ArgumentParser
import DurableJobs
import DurableJobsAdmin
import DurableJobsCLI
import DurableJobsPostgres
import DurableJobsRedis
import HiredisClient
import LibPQClient
import Logging
import Reactor

/// Gives the queue's commands access to the outsider's servers and jobs.
enum OutsiderProgram: QueueProgram {
  struct Settings: ParsableArguments, Sendable {
    @Option var redis: String
    @Option var postgres: String
  }

  static var root: any ParsableCommand.Type { Outsider.self }
  static let path = "outsider"
  static let kinds = JobKinds(Shop.registry)
  static let manual = Manual(date: "November 24, 2026")

  static func run(
    _ settings: Settings, isVerbose: Bool, _ body: (OutsiderSession) async throws -> Void
  ) async throws {
    try await body(OutsiderSession(redis: settings.redis, postgres: settings.postgres))
  }

  static func doctor(_ session: OutsiderSession, _ options: NoOptions) throws -> Doctor {
    Doctor(
      postgres: try PostgresConfiguration(url: session.postgres), redis: try RedisConfiguration(url: session.redis),
      prefix: OutsiderSession.prefix, queues: kinds.queues, logger: session.logger)
  }
}

struct OutsiderSession: QueueSession {
  static let prefix = "shop"

  let redis: String
  let postgres: String
  let logger = Logger(label: "outsider") { _ in SwiftLogNoOpLogHandler() }

  var schedules: [Schedule] { [] }

  func withDatabase(_ body: @escaping @Sendable (JobsDatabase) async throws -> Void) async throws {
    let loop = EventLoop(name: "outsider")
    defer { loop.stop() }
    let pool = PostgresPool(
      configuration: try PostgresConfiguration(url: postgres), size: WorkerConnections.pool(for: 4), loop: loop,
      logger: logger)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await pool.run() }
      defer { group.cancelAll() }
      try await body(JobsDatabase(pool: pool))
    }
  }

  func withQueue(
    endures: Bool, _ body: @escaping @Sendable (JobsDatabase, RedisBroker) async throws -> Void
  ) async throws {
    try await withDatabase { database in
      let loop = EventLoop(name: "outsider")
      defer { loop.stop() }
      let client = RedisClient(configuration: try RedisConfiguration(url: redis), loop: loop, logger: logger)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await client.run() }
        defer { group.cancelAll() }
        try await body(database, try await RedisBroker(client: client, prefix: Self.prefix, logger: logger))
      }
    }
  }
}
