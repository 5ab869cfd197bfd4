import LibPQClient
import ProgramTestSupport
import Social
import SocialAdmin
import Testing

@testable import DurableJobsAdmin

@Suite("The doctor's check of imports", .timeLimit(.minutes(2)))
struct ImportExaminationTests {
  @Test("An import that stopped before its end is reported, and one that is running is not")
  func unfinished() async throws {
    try await TestStack.with { stack in
      func examine() async throws -> [Finding] {
        try await stack.pool.transaction { try await ImportExamination().run(in: $0) }
      }
      #expect(try await examine().isEmpty)
      try await stack.pool.execute("INSERT INTO import_owners (owner_id) VALUES (1)")
      try await stack.pool.execute(
        "INSERT INTO import_waiting (kind, at, account_id, other_id) VALUES ('likes', now(), 1, 2)")
      let found = try await examine()
      #expect(found.map(\.status) == [.warn])
      #expect(found.first?.detail.contains("likes, notifications") == true)
      #expect(found.first?.advice?.contains("fanmill import firebase") == true)
      let running = try await stack.pool.transaction { transaction in
        try await transaction.execute(
          "SELECT pg_advisory_xact_lock(hashtextextended(\(FirebaseImport.lockName), 0))")
        return try await ImportExamination().run(in: transaction)
      }
      #expect(running.map(\.status) == [.ok])
      // The lock ended with its transaction.
      #expect(try await examine().map(\.status) == [.warn])
    }
  }
}
