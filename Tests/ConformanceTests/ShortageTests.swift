import DurableJobs
import DurableJobsPostgres
import DurableJobsTesting
import JobsTestSupport
import LibPQClient
import Locking
import TestSupport
import Testing

/// A shortage on a server is no failure of the jobs that meet it.
@Suite(.timeLimit(.minutes(5))) struct ShortageTests {
  private struct Once: Job {
    static let kind: JobKind = "test.once"
    static let retry = RetryPolicy(maxAttempts: 1)
    var number: Int
  }

  @Test func aWaitForAConnectionIsNoFailure() async throws {
    try await PostgresLedgerFixture.with { fixture in
      let pool = PostgresPool(
        configuration: try PostgresConfiguration(url: fixture.url), size: 1, waitLimit: .milliseconds(50),
        loop: .tests, logger: .quiet)
      let attempts = Locked<[Int]>([])
      let (isHeld, mayEnd) = (Gate(), Gate())
      var registry = JobRegistry<PostgresLedger>()
      registry.register(Once.self) { _, context in
        attempts.withLock { $0.append(context.attempt) }
        try await context.transaction { _ in }
      }
      let broker = InMemoryBroker()
      let worker = Worker(
        broker: broker, ledger: PostgresLedger(pool: pool, schema: PostgresLedgerFixture.schema), registry: registry,
        configuration: WorkerConfiguration(queues: [.default: 2]), logger: .quiet)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await pool.run() }
        group.addTask {
          // The first connection may take longer to open than the pool's wait limit.
          try await eventually("the pool's connection is open") {
            do { return try await pool.query("SELECT 1").count == 1 } catch { return false }
          }
          try await pool.withConnection { _ in
            isHeld.open()
            try await mayEnd.wait()
          }
        }
        defer { group.cancelAll() }
        try await isHeld.wait()
        try await RunningWorker.run(worker) { _ in
          let client = JobClient(broker: broker, ledger: fixture.ledger, logger: .quiet)
          try await client.enqueue(Once(number: 1))
          try await eventually("it is handed back") { await broker.depth(of: .default).delayed == 1 }
          try await eventually("it has been tried again") { attempts.withLock { $0.count } > 1 }
          mayEnd.open()
          try await eventually("it is done") { try await fixture.ledger.allPendingIDs().isEmpty }
        }
      }
      #expect(attempts.withLock { Set($0) } == [1])
      #expect(
        try await fixture.pool.query("SELECT count(*) FROM \(fixture.table("dead_jobs"))")[0].decode(Int.self) == 0)
    }
  }

  @Test func onlyShortagesHandJobsBack() {
    #expect(PostgresError(.poolExhausted, "").handsJobBack)
    #expect(PostgresError(.server, "", sqlState: "53300").handsJobBack)
    #expect(!PostgresError(.server, "", sqlState: "53400").handsJobBack)
    #expect(!PostgresError(.server, "", sqlState: "23505").handsJobBack)
    #expect(!PostgresError(.timeout, "").handsJobBack)
  }
}
