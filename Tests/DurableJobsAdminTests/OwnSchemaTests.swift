import DurableJobs
import DurableJobsRedis
import Foundation
import HiredisClient
import JobsTestSupport
import LibPQClient
import PrivateServers
import ProgramTestSupport
import Testing
import TestSupport

@testable import DurableJobsAdmin
@testable import DurableJobsPostgres

/// Another program's queue: a different schema name, key prefix and set of kinds. The standard schema has no tables, so
/// a statement that does not name its tables through the schema fails.
@Suite("Another schema, prefix and registry", .timeLimit(.minutes(5)))
struct OwnSchemaTests {
  private struct Charge: Job {
    static let kind: JobKind = "shop.charge"
    static let queue: QueueName = "orders"
    static let retry = RetryPolicy(maxAttempts: 1)
    var order: Int
  }

  private struct Declined: Error {}

  private struct Shop: Sendable {
    let postgresURL: String
    let redis: PrivateRedis
    let database: JobsDatabase
    let client: RedisClient
    let broker: RedisBroker

    var jobs: JobAdmin {
      JobAdmin(
        JobClient(broker: broker, ledger: PostgresLedger(database), logger: .quiet),
        kinds: JobKinds(OwnSchemaTests.registry))
    }
    var queues: QueueAdmin { QueueAdmin(database, broker: broker, known: ["orders"]) }
    var schedules: ScheduleAdmin {
      get throws {
        ScheduleAdmin([Schedule("audit", try .cron("0 0 30 2 *", .gmt)) { _ in Charge(order: 0) }], database: database)
      }
    }

    func ask(_ order: Int, runAt: Date? = nil) async throws -> String {
      let payload = Array(#"{"order":\#(order)}"#.utf8)
      return try await jobs.enqueue(JobRequest(kind: "shop.charge", payload: payload, runAt: runAt), by: .tester)
        .id.description
    }

    /// Runs a worker and a scheduler during `body`.
    func work(_ body: @Sendable () async throws -> Void) async throws {
      let ledger = PostgresLedger(database)
      var configuration = WorkerConfiguration(queues: ["orders": 4])
      (configuration.relayInterval, configuration.relayAge) = (.milliseconds(50), .milliseconds(50))
      let worker = Worker(
        broker: broker, ledger: ledger, registry: OwnSchemaTests.registry, configuration: configuration,
        workers: PostgresWorkerRegistry(database), logger: .quiet)
      let scheduler = try Scheduler(
        try schedules.schedules, client: JobClient(broker: broker, ledger: ledger, logger: .quiet),
        store: PostgresScheduleStore(database), logger: .quiet)
      try await RunningWorker.run(worker) { _ in
        try await RunningWorker.run(scheduler) { _ in try await body() }
      }
    }
  }

  /// Orders below zero are declined.
  private static var registry: JobRegistry<PostgresLedger> {
    var registry = JobRegistry<PostgresLedger>()
    registry.register(Charge.self) { job, _ in if job.order < 0 { throw Declined() } }
    registry.register(LedgerSweep.self, handler: LedgerSweep.run)
    return registry
  }

  private func open(_ body: @Sendable (Shop) async throws -> Void) async throws {
    let url = try await TestStack.emptyDatabase(template: true)
    let redis = try await PrivateRedis.start()
    let client = RedisClient(
      configuration: try RedisConfiguration(url: redis.url), loop: .tests, logger: .quiet)
    try await TestStack.withPool(url) { pool in
      // A statement on the standard schema would fail.
      try await pool.execute("DROP SCHEMA \(PostgresIdentifier(JobsSchema.standard.name)) CASCADE")
      try await JobsSchema.migrate(pool, schema: "shop")
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await client.run() }
        defer { group.cancelAll() }
        let broker = try await RedisBroker(client: client, prefix: "shop", logger: .quiet)
        let database = JobsDatabase(pool: pool, schema: JobsSchema("shop"))
        try await body(
          Shop(postgresURL: url, redis: redis, database: database, client: client, broker: broker))
      }
    }
  }

  @Test("An operator lists, finds, changes, cancels and retries its jobs")
  func jobs() async throws {
    try await open { shop in
      let (waiting, later) = (try await shop.ask(1), try await shop.ask(2, runAt: .now + 3600))
      #expect(try await shop.jobs.page(JobFilter()).items.map(\.id) == [later, waiting])
      for (state, ids) in [(JobState.waiting, [waiting]), (.delayed, [later]), (.running, []), (.parked, [])] {
        #expect(try await shop.jobs.page(JobFilter(state: state)).items.map(\.id) == ids)
      }
      #expect(try await shop.jobs.page(JobFilter(text: #""order":2"#)).items.map(\.id) == [later])
      #expect(try await shop.jobs.show(waiting).isInBroker == true)
      let moment = Date(timeIntervalSince1970: 4_000_000_000)
      #expect(try await shop.jobs.reschedule(later, at: moment, by: .tester).runAt == moment)
      #expect(try await shop.jobs.retry(later, by: .tester).state == .waiting)
      #expect(try await shop.jobs.cancel(later, by: .tester).state == .cancelled)
      #expect(try await shop.jobs.page(JobFilter(state: .cancelled)).items.map(\.id) == [later])
      let audit = LedgerAudit(
        shop.database, broker: shop.broker, queues: ["orders"], now: { Date().addingTimeInterval(60) })
      #expect(try await audit.run() == LedgerAudit.Report(pending: 1))
      #expect(try await audit.leftovers() == LedgerAudit.Leftovers(known: 1))
      let declined = [try await shop.ask(-1), try await shop.ask(-2)]
      try await shop.work {
        let done = try await shop.jobs.wait(for: waiting, limit: .seconds(60))
        #expect(done.state == .done)
        for id in declined { #expect(try await shop.jobs.wait(for: id, limit: .seconds(60)).state == .dead) }
        #expect(try await shop.jobs.retryDead(declined[0], by: .tester).id == declined[0])
        #expect(try await shop.jobs.wait(for: declined[0], limit: .seconds(60)).state == .dead)
      }
      #expect(try await shop.jobs.page(JobFilter(state: .dead)).items.count == 2)
      let failures = try await LiveMonitor(shop.queues).view().failures
      #expect(failures.map(\.state) == [.dead, .dead])
      #expect(try await shop.jobs.delete(declined[0], by: .tester).state == .deleted)
      #expect(try await shop.jobs.deleteDead(kind: "shop.charge", by: .tester) == 1)
      let actions = try await ActionLog(shop.database).page(subject: declined[0]).items.map(\.action)
      #expect(actions == ["dead.delete", "dead.retry", "jobs.enqueue"])
    }
  }

  @Test("An operator pauses, drains and clears its queues, stops its workers and fires its schedules")
  func queuesWorkersAndSchedules() async throws {
    try await open { shop in
      let (queues, workers) = (shop.queues, WorkerAdmin(shop.database))
      try await queues.pause("orders", by: .tester)
      for order in 1...3 { _ = try await shop.ask(order) }
      let paused = try #require(try await queues.list().first)
      #expect((paused.queue, paused.isPaused, paused.ready, paused.pending) == ("orders", true, 3, 3))
      #expect(try await queues.clear("orders", by: .tester) == 3)
      try await queues.resume("orders", by: .tester)
      _ = try await shop.ask(4)
      try await shop.work {
        try await queues.drain("orders", limit: .seconds(60))
        try await eventually("the worker is listed") { try await workers.list().map(\.state) == [.running] }
        #expect(try await queues.show("orders").workers.count == 1)
        #expect(try await shop.schedules.pause("audit", by: .tester).state == .paused)
        #expect(try await shop.schedules.resume("audit", by: .tester).state == .active)
        #expect(try await shop.schedules.run("audit", on: shop.jobs, by: .tester).kind == "shop.charge")
        try await queues.drain("orders", limit: .seconds(60))
        let statistics = Statistics(shop.database)
        try await eventually("what was done is counted") { try await statistics.totals(.hour).completed == 2 }
        #expect(try await statistics.kinds(.week).map(\.kind) == ["shop.charge"])
        #expect(try await statistics.series(.day).reduce(0) { $0 + $1.completed } == 2)
        #expect(try await workers.quiet(nil, by: .tester).count == 1)
        try await eventually("it is quiet") { try await workers.list().map(\.state) == [.quiet] }
      }
    }
  }

  @Test("It is watched, examined, measured, exported and swept")
  func upkeep() async throws {
    try await open { shop in
      _ = try await shop.ask(1)
      var configuration = StackWatch.Configuration(limits: try AlarmLimits("*:waiting=1ms"))
      configuration.interval = .milliseconds(20)
      let watch = StackWatch(configuration, database: shop.database, broker: shop.broker, logger: .quiet)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await watch.run() }
        try await eventually("an alarm is given") {
          try await StackSample.latest(in: shop.database)?.alarms == [.init(queue: "orders", what: "waiting")]
        }
        group.cancelAll()
      }
      let book = AlarmBook(shop.database, limits: .standard, isDelivered: false)
      #expect(try await book.open().map(\.queue) == ["orders"])
      let clock = LedgerClock(ahead: .seconds(7), error: .zero)
      try await shop.database.note(clock, of: "p", program: "shop", host: "h")
      let doctor = Doctor(
        postgres: try PostgresConfiguration(url: shop.postgresURL), tables: shop.database.schema,
        redis: try RedisConfiguration(url: shop.redis.url), prefix: "shop", queues: ["orders"], logger: .quiet)
      let findings = await doctor.examine()
      #expect(!findings.contains { $0.status == .fail }, "\(findings)")
      #expect(findings.first { $0.name == "process clocks" }?.detail.contains("shop on h (7 s") == true)
      #expect(findings.last?.name == "ledger and broker")
      let folder = FileManager.default.temporaryDirectory.appendingPathComponent("shop-\(JobID.next())").path
      #expect(try await JobExport(.pending, to: folder + ".jobs").run(on: shop.database) == 1)
      #expect(try await JobExport(.dead, to: folder + ".dead").run(on: shop.database) == 0)
      for name in [".jobs", ".dead"] { try FileManager.default.removeItem(atPath: folder + name) }
      let bench = QueueBench(shop.database, broker: shop.broker, jobs: 100, concurrency: 4, logger: .quiet)
      #expect(try await bench.run().jobs == 100)
      try await bench.cleanUp()
      let limit = LedgerSweep.Limit(days: 0, rows: 0)
      try await JobClient(broker: shop.broker, ledger: PostgresLedger(shop.database), logger: .quiet)
        .enqueue(LedgerSweep(endedDays: 0, dead: limit, actions: limit), options: JobOptions(queue: "orders"))
      try await shop.work {
        try await eventually("all is done") { try await shop.database.pendingCount() == 0 }
      }
      #expect(try await ActionLog(shop.database).page().items.isEmpty)
      let keys = try await shop.client.send(RedisCommand("KEYS", "*")).elements?.compactMap(\.text) ?? []
      #expect(!keys.isEmpty && keys.allSatisfy { $0.hasPrefix("shop") }, "\(keys)")
    }
  }
}
