import DurableJobs
import DurableJobsPostgres
import DurableJobsTesting
import Foundation
import LibPQClient
import Testing

@Suite(.timeLimit(.minutes(5))) struct LedgerConformanceTests {
  @Test(arguments: LedgerConformance.checks)
  func inMemory(_ check: LedgerCheck) async throws { try await check.run(on: LedgerInMemory()) }

  @Test(arguments: LedgerConformance.checks)
  func postgres(_ check: LedgerCheck) async throws {
    try await PostgresLedgerFixture.with { try await check.run(on: $0) }
  }
}

@Suite(.timeLimit(.minutes(5))) struct ScheduleStoreConformanceTests {
  @Test(arguments: ScheduleStoreConformance.checks)
  func inMemory(_ check: ScheduleStoreCheck) async throws {
    try await check.run(on: Stores(ledger: InMemoryLedger(), store: InMemoryScheduleStore()))
  }

  @Test(arguments: ScheduleStoreConformance.checks)
  func postgres(_ check: ScheduleStoreCheck) async throws {
    try await PostgresLedgerFixture.with { fixture in
      let store = PostgresScheduleStore(pool: fixture.pool, schema: PostgresLedgerFixture.schema)
      try await check.run(on: Stores(ledger: fixture.ledger, store: store))
    }
  }

  private struct Stores<Base: Ledger, Store: ScheduleStore>: ScheduleStoreUnderTest
  where Base.Transaction == Store.Transaction {
    let ledger: Base
    let store: Store
  }
}

private struct LedgerInMemory: LedgerUnderTest {
  let ledger = InMemoryLedger()

  func deadLetters() -> [JobID: DeadRecord] {
    var records: [JobID: DeadRecord] = [:]
    for job in ledger.dead {
      records[job.record.id] = DeadRecord(
        kind: job.record.kind, attempts: job.attempts, errors: job.record.failures.map(\.error))
    }
    return records
  }

  func finishedJobs() -> [JobID: FinishedRecord] {
    var records: [JobID: FinishedRecord] = [:]
    for job in ledger.ended {
      records[job.record.id] = FinishedRecord(
        state: job.state, attempts: job.record.attempts, errors: job.record.failures.map(\.error))
    }
    return records
  }
}

extension PostgresLedgerFixture: LedgerUnderTest {
  func deadLetters() async throws -> [JobID: DeadRecord] {
    let rows = try await pool.query("SELECT id, kind, attempts, failures::text FROM \(table("dead_jobs"))")
    var letters: [JobID: DeadRecord] = [:]
    for row in rows {
      let (id, kind, attempts, failures) = try row.decode(PostgresUUID.self, String.self, Int.self, String.self)
      letters[JobID(id)] = DeadRecord(
        kind: JobKind(rawValue: kind), attempts: attempts, errors: try Self.errors(failures))
    }
    return letters
  }

  func finishedJobs() async throws -> [JobID: FinishedRecord] {
    let rows = try await pool.query(
      "SELECT id, state, attempts, coalesce(failures, '[]')::text FROM \(table("ended_jobs"))")
    var letters: [JobID: FinishedRecord] = [:]
    for row in rows {
      let (id, state, attempts, failures) = try row.decode(PostgresUUID.self, String.self, Int.self, String.self)
      letters[JobID(id)] = FinishedRecord(
        state: try #require(FinishedJob.State(rawValue: state)), attempts: attempts, errors: try Self.errors(failures))
    }
    return letters
  }

  private static func errors(_ failures: String) throws -> [String] {
    try JSONDecoder().decode([JobFailure].self, from: Data(failures.utf8)).map(\.error)
  }
}
