import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import DurableJobsTesting
import Foundation
import JobsTestSupport
import LibPQClient
import Locking
import ProgramTestSupport
import TestSupport
import Testing

@Suite("Queues as an operator sees them", .timeLimit(.minutes(5)))
struct QueueAdminTests {
  private func admin(_ stack: TestStack) -> QueueAdmin {
    QueueAdmin(stack.database, broker: stack.broker, known: ["idle", "fanout"])
  }

  private func own(_ count: Int, _ queue: QueueName, on stack: TestStack, isDurable: Bool = true) async throws
    -> [JobID]
  {
    let records = (0..<count).map { _ in JobRecord.test(queue: queue, isDurable: isDurable) }
    if isDurable {
      _ = try await stack.client.transaction { try await $0.add(records) }
    } else {
      try await stack.broker.push(records)
    }
    return records.map(\.id)
  }

  @Test("All queues are listed: known ones, those with work, paused ones, those that a worker serves")
  func list() async throws {
    try await TestStack.with { stack in
      _ = try await own(3, "busy", on: stack)
      try await stack.pool.execute("UPDATE jobs SET parked = true WHERE id = (SELECT id FROM jobs ORDER BY id LIMIT 1)")
      try await stack.pool.execute("INSERT INTO queue_pauses (queue, paused_by) VALUES ('still', 'tester')")
      let workers = PostgresWorkerRegistry(pool: stack.pool)
      let since = Date(timeIntervalSinceNow: -5)
      let report = WorkerReport(
        name: "w1", host: "h", pid: 1, version: "v", startedAt: since,
        queues: [WorkerReport.Queue(queue: "served", concurrency: 4)],
        running: [WorkerReport.Running(id: .next(), kind: "k", queue: "served", attempt: 1, since: since)])
      _ = try await workers.heartbeat(report)
      let listed = try await admin(stack).list()
      #expect(listed.map(\.queue) == ["busy", "fanout", "idle", "served", "still"])
      let busy = listed[0]
      #expect(busy.ready == 3 && busy.pending == 3 && busy.parked == 1 && !busy.isPaused)
      #expect(try #require(busy.oldestWaiting) >= 0 && busy.oldestRunning == nil)
      #expect(try #require(listed[3].oldestRunning) >= 5)
      #expect(listed[4].isPaused && listed[4].oldestWaiting == nil)

      let served = try await admin(stack).show("served")
      #expect(served.workers.map(\.name) == ["w1"])
      #expect(served.workers.map(\.concurrency) == [4] && served.workers.map(\.running) == [1])
      let still = try await admin(stack).show("still")
      #expect(still.pausedBy == "tester" && still.pausedAt != nil)
      let unknown = await #expect(throws: OperationError.self) { try await admin(stack).show("bussy") }
      #expect(unknown?.code == .notFound && unknown?.message.contains("'busy'") == true)
      try await workers.leave(report)
    }
  }

  @Test("A pause is kept, noted, and told to workers; pausing twice changes nothing")
  func pause() async throws {
    try await TestStack.with { stack in
      let workers = PostgresWorkerRegistry(pool: stack.pool)
      let report = WorkerReport(
        name: "w", host: "h", pid: 1, version: "v", startedAt: Date(timeIntervalSince1970: 0),
        queues: [WorkerReport.Queue(queue: "fanout", concurrency: 1)])
      try await admin(stack).pause("fanout", by: .tester)
      try await admin(stack).pause("fanout", by: Operator(name: "another"))
      try await admin(stack).pause("idle", by: .tester)
      #expect(try await workers.heartbeat(report) == WorkerCommands(pausedQueues: ["fanout"]), "of its own queues")
      #expect(try await admin(stack).show("fanout").pausedBy == "tester")
      try await admin(stack).resume("fanout", by: .tester)
      #expect(try await workers.heartbeat(report) == WorkerCommands())
      let entries = try await ActionLog(stack.database).page(subject: "fanout").items
      #expect(entries.map(\.action) == ["queues.resume", "queues.pause", "queues.pause"])
      #expect(entries.map(\.detail) == [[:], ["was": "paused"], [:]])
      #expect(
        await #expect(throws: OperationError.self) { try await admin(stack).pause("nope", by: .tester) }?.code
          == .notFound)
      try await workers.leave(report)
    }
  }

  @Test("Clearing cancels what is pending and forgets the rest; what stays in its transaction is told, and said")
  func clear() async throws {
    try await TestStack.with { stack in
      let ids = try await own(1200, "busy", on: stack)
      _ = try await own(7, "busy", on: stack, isDurable: false)
      _ = try await own(1, "fanout", on: stack)
      let workers = PostgresWorkerRegistry(pool: stack.pool)
      let report = WorkerReport(
        name: "w", host: "h", pid: 1, version: "v", startedAt: Date(timeIntervalSince1970: 0),
        queues: [WorkerReport.Queue(queue: "busy", concurrency: 1)])
      try await stack.pool.transaction { transaction in
        try await transaction.execute("DELETE FROM jobs WHERE queue = 'busy' AND id = \(PostgresUUID(ids[3]))")
        let error = await #expect(throws: OperationError.self) {
          try await admin(stack).clear("busy", by: .tester, patience: .milliseconds(200))
        }
        #expect(error?.code == .failed)
        // The broker's record of the remaining one is removed with the rest: its worker has it, or the relay pushes it
        // again.
        #expect(error?.message.hasPrefix("1207 jobs of busy are cancelled; 1 more is still") == true)
      }
      #expect(try await stack.count("SELECT count(*) FROM jobs WHERE queue = 'busy'") == 0)
      #expect(try await stack.count("SELECT count(*) FROM ended_jobs WHERE state = 'cancelled'") == 1199)
      #expect(try await stack.broker.depth(of: "busy") == QueueDepth())
      #expect(try await stack.broker.depth(of: "fanout").ready == 1)
      #expect(try await workers.heartbeat(report).cancelled == [ids[3]], "who runs it is told")
      try await workers.leave(report)
    }
  }

  /// The effects of a test's handlers.
  private struct Deeds: Sendable {
    var begun = 0
    var cancelled = 0
  }

  private struct Endless: Job {
    static let kind: JobKind = "test.endless"
    static let queue: QueueName = "fanout"
    var isInTransaction: Bool
  }

  @Test("Clearing ends all that run, however many one worker runs, and undoes what their transactions wrote")
  func clearRunning() async throws {
    try await TestStack.with { stack in
      let deeds = Locked(Deeds())
      var registry = JobRegistry<PostgresLedger>()
      registry.register(Endless.self) { job, context in
        deeds.withLock { $0.begun += 1 }
        do {
          if !job.isInTransaction { try await Task.sleep(for: .seconds(3600)) }
          try await context.transaction { transaction in
            try await transaction.sql.execute("INSERT INTO queue_pauses (queue, paused_by) VALUES ('written', 'a job')")
            try await Task.sleep(for: .seconds(3600))
          }
        } catch {
          deeds.withLock { $0.cancelled += 1 }
          throw error
        }
      }
      var configuration = WorkerConfiguration(queues: ["fanout": WorkerReport.maxRunning + 60])
      configuration.reportInterval = .milliseconds(20)
      let worker = Worker(
        broker: stack.broker, ledger: stack.ledger, registry: registry, configuration: configuration,
        workers: PostgresWorkerRegistry(pool: stack.pool), logger: .quiet)
      let running = WorkerReport.maxRunning + 50
      try await RunningWorker.run(worker) { _ in
        try await stack.client.enqueue((0..<running).map { Endless(isInTransaction: $0 == 7) })
        try await eventually("all run") { deeds.withLock { $0.begun } == running }
        try await eventually("one is in its transaction") {
          try await stack.count(
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND state = 'idle in transaction'
            """) > 0
        }
        #expect(try await admin(stack).clear("fanout", by: .tester, patience: .seconds(60)) == running)
        try await eventually("all have ended") { deeds.withLock { $0.cancelled } == running }
        try await eventually("nobody has to be told any more") {
          try await stack.count("SELECT count(*) FROM job_cancellations") == 0
        }
        try await eventually("the broker is through") { try await stack.broker.depth(of: "fanout").known == 0 }
      }
      #expect(deeds.withLock { $0.begun } == running, "none began twice")
      #expect(try await stack.count("SELECT count(*) FROM ended_jobs WHERE state = 'cancelled'") == running)
      #expect(try await stack.count("SELECT count(*) FROM queue_pauses") == 0)
      #expect(try await stack.count("SELECT count(*) FROM jobs") == 0)
    }
  }

  @Test("Draining waits for the end, and says what is left of it")
  func drain() async throws {
    try await TestStack.with { stack in
      let ids = try await own(3, "fanout", on: stack)
      let late = await #expect(throws: OperationError.self) {
        try await admin(stack).drain("fanout", limit: .milliseconds(20))
      }
      #expect(late?.code == .failed && late?.message.contains("3 ready") == true)
      async let drained: Void = admin(stack).drain("fanout", limit: .seconds(60))
      try await stack.ledger.complete(ids, queue: "fanout")
      _ = try await stack.broker.remove(ids, from: "fanout")
      try await drained
      try await admin(stack).pause("idle", by: .tester)
      try await admin(stack).drain("idle", limit: .zero)
      _ = try await own(1, "idle", on: stack)
      let paused = await #expect(throws: OperationError.self) {
        try await admin(stack).drain("idle", limit: .seconds(60))
      }
      #expect(paused?.code == .conflict)
    }
  }
}
