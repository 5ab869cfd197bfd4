import DurableJobs
import DurableJobsPostgres

/// The stores of schedules that the suite runs on, each with the ledger whose transactions it is in.
enum ScheduleStoreKind: String, CaseIterable, Sendable {
  case memory, postgres

  /// Runs `body` with a fresh store.
  func with(_ body: @Sendable (any TestedSchedules) async throws -> Void) async throws {
    switch self {
    case .memory: try await body(Tested(ledger: InMemoryLedger(), store: InMemoryScheduleStore()))
    case .postgres:
      try await PostgresLedgerFixture.with { fixture in
        try await body(Tested(ledger: fixture.ledger, store: PostgresScheduleStore(pool: fixture.pool)))
      }
    }
  }

  private struct Tested<L: Ledger, Store: ScheduleStore>: TestedSchedules where L.Transaction == Store.Transaction {
    let ledger: L
    let store: Store
  }
}

/// A store of schedules beside its ledger.
protocol TestedSchedules: Sendable {
  associatedtype L: Ledger
  associatedtype Store: ScheduleStore where Store.Transaction == L.Transaction
  var ledger: L { get }
  var store: Store { get }
}

extension TestedSchedules {
  func transaction<Result: Sendable>(
    _ body: @Sendable (L.Transaction) async throws -> Result
  ) async throws -> Result { try await ledger.withTransaction(body) }
}
