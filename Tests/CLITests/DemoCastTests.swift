import DurableJobsAdmin
import LibPQClient
import ProgramTestSupport
import Testing

@testable import LocalStack

/// The accounts of `fanmill demo --keep`.
@Suite(.timeLimit(.minutes(2))) struct DemoCastTests {
  private let students = Student.all(10, seed: 2024)

  private func count(_ query: PostgresQuery, _ stack: TestStack) async throws -> Int {
    try await stack.pool.query(query)[0].decode(Int.self)
  }

  @Test func itsAccountsAreOpenedOnce() async throws {
    try await TestStack.with { stack in
      let first = try await ExhibitionCast.enter(students, stack.pool)
      let second = try await ExhibitionCast.enter(students, stack.pool)
      #expect(first.ids == second.ids && Set(first.ids).count == 10)
      #expect(try await count("SELECT count(*) FROM accounts", stack) == 10)
    }
  }

  @Test("Somebody who has the address of one of them is left alone")
  func stranger() async throws {
    try await TestStack.with { stack in
      try await stack.pool.execute(
        "INSERT INTO accounts (username, email, name) VALUES ('visitor', 'visitor@example.org', 'A real visitor')")
      await #expect(throws: OperationError.self) { _ = try await ExhibitionCast.enter(students, stack.pool) }
      #expect(try await count("SELECT count(*) FROM accounts", stack) == 1)
      #expect(try await count("SELECT count(*) FROM sessions", stack) == 0)
    }
  }

  @Test("A run is not repeated once its requests' keys may be gone")
  func late() async throws {
    try await TestStack.with { stack in
      _ = try await ExhibitionCast.enter(students, stack.pool)
      try await stack.pool.execute("UPDATE accounts SET created_at = created_at - interval '22 hours'")
      _ = try await ExhibitionCast.enter(students, stack.pool)
      try await stack.pool.execute("UPDATE accounts SET created_at = created_at - interval '2 hours'")
      await #expect(throws: OperationError.self) { _ = try await ExhibitionCast.enter(students, stack.pool) }
    }
  }
}
