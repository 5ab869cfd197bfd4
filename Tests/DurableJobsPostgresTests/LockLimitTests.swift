import DurableJobs
import DurableJobsTesting
import LibPQClient
import Testing

@testable import DurableJobsPostgres

@Suite struct LockLimitTests {
  @Test func aKeyThatIsHeldLeavesTheTransactionItsSettings() async throws {
    try await TestDatabase.empty { pool in
      try await JobsSchema.migrate(pool)
      let ledger = PostgresLedger(pool: pool)
      try await pool.transaction { holder in
        _ = try await ledger.add([.test(uniqueKey: "k")], in: holder)
        try await pool.transaction { transaction in
          try await transaction.execute("SET LOCAL lock_timeout = '7s'")
          // It tries with longer and longer limits.
          await #expect(throws: UniqueKeyHeld.self) {
            _ = try await ledger.add([.test(uniqueKey: "k")], in: transaction)
          }
          for (setting, value) in [("lock_timeout", "7s"), ("enable_seqscan", "on")] {
            let now = try await transaction.query("SELECT current_setting(\(setting))")[0].decode(String.self)
            #expect(now == value, "\(setting)")
          }
          #expect(try await ledger.add([.test(uniqueKey: "another")], in: transaction).count == 1)
        }
      }
      #expect(try await pool.count("SELECT count(*) FROM jobs.jobs") == 2)
    }
  }
}
