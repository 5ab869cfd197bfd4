import DurableJobs
import DurableJobsTesting
import Foundation
import LibPQClient
import PrivateServers
import TestSupport
import Testing

@testable import DurableJobsPostgres

/// Rows that another transaction changes between a statement's snapshot and its lock.
@Suite struct ChangedRowsTests {
  private typealias Change = @Sendable (PostgresLedger, [JobRecord]) async throws -> [JobID]

  private static let queue = QueueName.default
  /// Each statement that changes jobs, and returns those that another transaction holds.
  private static let changes: [String: Change] = [
    "complete": { try await $0.complete($1.map(\.id), queue: queue) },
    "complete in a transaction": { ledger, jobs in
      try await ledger.withTransaction { try await ledger.complete(jobs.map(\.id), queue: queue, in: $0) }.held
    },
    "cancel": { try await $0.cancel($1.map(\.id), queue: queue) },
    "cancelUnheld": { ledger, jobs in
      let ids = jobs.map(\.id)
      let gone = try await ledger.withTransaction { try await ledger.cancelUnheld(ids, queue: queue, in: $0) }
      return ids.filter { !gone.contains($0) }
    },
    "recordFailures": { ledger, jobs in
      let failures = jobs.map { FailedJob(id: $0.id, failure: failure, runAt: .now) }
      return try await ledger.recordFailures(failures, queue: queue)
    },
    "postpone": { ledger, jobs in
      try await ledger.postpone(Dictionary(uniqueKeysWithValues: jobs.map { ($0.id, Date()) }), queue: queue)
    },
    "deadLetter": { try await $0.deadLetter($1.map { DeadJob(record: $0, attempts: 1, failure: failure) }) },
    "discard": { try await $0.discard($1.map { DeadJob(record: $0, attempts: 1, failure: failure) }) },
    "park": { try await $0.park($1) },
  ]

  private static var failure: JobFailure { JobFailure(attempt: 1, at: .now, error: "broke", worker: "w") }

  @Test(arguments: changes.keys.sorted(), [1, 3])
  func aRowThatChangedMeanwhileIsNotHeld(_ name: String, of count: Int) async throws {
    let change = try #require(Self.changes[name])
    let url = try await SharedServers.freshDatabase()
    try await TestDatabase.withPool(url) { pool in
      try await JobsSchema.migrate(pool)
      let jobs = (0..<count).map { _ in JobRecord.test() }
      let ledger = PostgresLedger(pool: pool)
      _ = try await ledger.withTransaction { try await ledger.add(jobs, in: $0) }
      for statement in Self.gate { try await pool.execute(statement) }
      try await TestDatabase.withPool(url, connections: 1) { keeper in
        try await TestDatabase.withPool(url, user: "gated", connections: 1) { gated in
          try await keeper.execute("SELECT pg_advisory_lock(1)")
          async let held = change(PostgresLedger(pool: gated), jobs)
          try await eventually("the statement waits at the gate") {
            try await pool.count(
              """
              SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
              WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted
              """) == 1
          }
          try await pool.execute("UPDATE jobs.jobs SET priority = priority + 1")
          try await keeper.execute("SELECT pg_advisory_unlock(1)")
          #expect(try await held == [])
        }
      }
    }
  }

  /// A role that must pass a lock to see a row of `jobs`: after its statement's snapshot, and before the row's lock.
  private static let gate: [PostgresQuery] = [
    "DO $$ BEGIN CREATE ROLE gated LOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$",
    """
    CREATE FUNCTION passes() RETURNS boolean LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN true; END $$
    """,
    "GRANT ALL ON SCHEMA jobs TO gated", "GRANT ALL ON ALL TABLES IN SCHEMA jobs TO gated",
    "ALTER TABLE jobs.jobs ENABLE ROW LEVEL SECURITY", "CREATE POLICY gate ON jobs.jobs USING (passes())",
  ]
}
