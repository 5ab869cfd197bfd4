import DurableJobs
import DurableJobsPostgres
import DurableJobsTesting
import Foundation
import LibPQClient
import Logging
import TestSupport
import Testing

@testable import Social

/// An app whose lookups go to a scripted service.
struct LookupStage: Sendable {
  let app: App
  let service = ScriptedYouTube()
  let time: TestTime
  var rules: LookupRules

  init(_ app: App, keys: [String] = ["key-one"], at date: Date = Date()) {
    self.app = app
    time = TestTime(date)
    rules = LookupRules(keys: keys.map { YouTubeKey($0) })
  }

  static func run(
    keys: [String] = ["key-one"], _ body: @Sendable (LookupStage) async throws -> Void
  ) async throws {
    try await App.run { app in try await body(LookupStage(app, keys: keys)) }
  }

  var lookups: Lookups { Lookups(rules: rules, now: { [time] in time.now }) }

  func youtube(logger: Logger = logger) -> YouTube {
    YouTube(transport: service, rules: rules, pool: app.pool, logger: logger, now: { [time] in time.now })
  }

  func ask(_ question: String, by account: Int? = nil) async throws -> Lookups.Answer {
    try await lookups.ask(try ChannelQuestion(question), by: account, of: app.client, pool: app.pool)
  }

  /// Begins a lookup.
  func begin(_ question: String) async throws -> UUID {
    guard case .lookup(let id) = try await ask(question) else {
      Issue.record("'\(question)' began no lookup")
      return UUID()
    }
    return id
  }

  func lookup(_ id: UUID) async throws -> Lookup { try await lookups.lookup(id, in: app.pool).lookup }
  func channels(_ id: UUID) async throws -> [Channel] { try await lookups.lookup(id, in: app.pool).channels }

  /// Serves lookups while `body` runs.
  func working(
    logger: Logger = logger, concurrency: Int = 4, broker: InMemoryBroker? = nil,
    _ body: @Sendable () async throws -> Void
  ) async throws {
    var registry = JobRegistry<PostgresLedger>()
    SocialJobs.register(in: &registry, youtube: youtube(logger: logger))
    var configuration = WorkerConfiguration(queues: [SocialJobs.lookupQueue: concurrency])
    configuration.heartbeat = .milliseconds(20)
    configuration.lease = .seconds(120)
    let worker = Worker(
      broker: broker ?? app.broker, ledger: PostgresLedger(pool: app.pool), registry: registry,
      configuration: configuration,
      logger: logger)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await worker.run() }
      try await body()
      group.cancelAll()
    }
  }

  static let busy = "(SELECT count(*) FROM lookups WHERE state IN ('waiting', 'running'))"

  /// Serves until every lookup has ended or is parked.
  func work(logger: Logger = logger) async throws {
    try await working(logger: logger) {
      try await eventually {
        try await app.count("SELECT (SELECT count(*) FROM jobs WHERE run_at IS NULL) + \(unescaped: Self.busy)") == 0
      }
    }
  }

  /// Starts a lookup, serves it, and returns its result.
  func find(_ question: String) async throws -> (lookup: Lookup, channels: [Channel]) {
    let id = try await begin(question)
    try await work()
    return try await lookups.lookup(id, in: app.pool)
  }

  /// The units spent and reserved today on all keys.
  func used(_ budget: QuotaBudgets.Kind) async throws -> [Int] {
    let row = try await app.pool.query(
      """
      SELECT coalesce(sum(spent), 0)::bigint, coalesce(sum(reserved), 0)::bigint FROM youtube_quota
      WHERE budget = \(budget.rawValue)
      """)[0]
    let (spent, reserved) = try row.decode(Int.self, Int.self)
    return [spent, reserved]
  }
}
