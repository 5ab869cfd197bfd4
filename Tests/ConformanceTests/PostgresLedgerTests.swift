import DurableJobs
import DurableJobsPostgres
import DurableJobsTesting
import LibPQClient
import Testing

/// Tests beyond the conformance suite, specific to this ledger.
@Suite(.timeLimit(.minutes(5))) struct PostgresLedgerTests {
  /// A process whose clock is ahead makes such ids; the ledger knows the actual time they became pending.
  @Test func anIDFromTheFutureAgesByTheLedgersClock() async throws {
    try await PostgresLedgerFixture.with { fixture in
      var job = JobRecord.test()
      job.id = JobID(high: job.id.high + UInt64(3_600_000) << 16, low: job.id.low)
      _ = try await fixture.ledger.add(job)
      func old() async throws -> [JobID] {
        try await fixture.ledger.newestPendingIDs(
          queue: .default, after: JobID(high: 0, low: 0), before: JobID(high: .max, low: .max), age: .seconds(60),
          limit: 7)
      }
      #expect(try await old().isEmpty)
      try await fixture.pool.execute("UPDATE \(fixture.table("jobs")) SET created_at = created_at - interval '61 s'")
      #expect(try await old() == [job.id])
    }
  }

  @Test func whyAJobIsRefusedIsKeptWithIt() async throws {
    try await PostgresLedgerFixture.with { fixture in
      let jobs = [JobRecord.test(), JobRecord.test()]
      _ = try await fixture.ledger.add(jobs[0], jobs[1])
      // Times outside the range of milliseconds, as written by hand.
      try await fixture.pool.execute(
        "UPDATE \(fixture.table("jobs")) SET run_at = 'infinity' WHERE id = \(PostgresUUID(jobs[0].id))")
      #expect(
        try await fixture.ledger.records([jobs[0].id], queue: .default).first?.runAt
          == .init(unixMilliseconds: 253_402_214_400_000))
      try await fixture.ledger.refuse([jobs[1].id: "no such thing"], queue: .default)
      let refused = try await fixture.pool.query(
        "SELECT id, refusal FROM \(fixture.table("jobs")) WHERE refusal IS NOT NULL"
      )
      .decode(PostgresUUID.self, String.self)
      #expect(refused.count == 1 && refused.first?.0 == PostgresUUID(jobs[1].id) && refused.first?.1 == "no such thing")
    }
  }
}
