import DurableJobs
import DurableJobsPostgres
import JobsTestSupport
import LibPQClient
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct StormTests {
  @Test func eachEffectHappensExactlyOnceOnRedisAndPostgres() async throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    try await RedisFixture.with { redis in
      try await PostgresLedgerFixture.with { postgres in
        let storm = ExactlyOnce(broker: redis.broker, ledger: postgres.ledger, seed: seed, jobs: 400) {
          try await redis.forgetEverything()
        }
        let effects = try await storm.run()
        #expect(effects == Array(0..<400), "seed \(seed)")
        #expect(try await postgres.deadLetters().isEmpty, "seed \(seed)")
      }
    }
  }

  /// A session waiting to lead must not delay vacuum: it holds no snapshot while it waits.
  @Test func waitingToLeadHoldsNoSnapshot() async throws {
    try await PostgresLedgerFixture.with { postgres in
      let leads = Gate()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<2 {
          group.addTask {
            try await postgres.ledger.lead("role") {
              leads.open()
              try await Task.sleep(for: .seconds(3600))
            }
          }
        }
        try await leads.wait()
        try await eventually("one leads and one has asked in vain") {
          let rows = try await postgres.pool.query(
            """
            SELECT count(*), count(backend_xmin), count(*) FILTER (WHERE state = 'active') FROM pg_stat_activity
            WHERE datname = current_database() AND query LIKE '%pg_try_advisory_lock%' AND pid <> pg_backend_pid()
            """)
          guard let row = rows.first else { return false }
          let (sessions, snapshots, active) = try row.decode(Int.self, Int.self, Int.self)
          return sessions >= 1 && snapshots == 0 && active == 0
        }
        group.cancelAll()
        while let result = await group.nextResult() { if case .success = result { Issue.record("it ended by itself") } }
      }
    }
  }
}
