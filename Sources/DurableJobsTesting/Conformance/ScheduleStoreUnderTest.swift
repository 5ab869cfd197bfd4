import DurableJobs

/// A promise that every store of schedules keeps.
public typealias ScheduleStoreCheck = ConformanceCheck<any ScheduleStoreUnderTest>

/// The promises of every `ScheduleStore`, whatever its implementation.
public enum ScheduleStoreConformance {
  public static let checks = ScheduleStoreChecks.all
}

/// A store of schedules under test, beside the ledger whose transactions it takes part in.
public protocol ScheduleStoreUnderTest: Sendable {
  associatedtype Base: Ledger
  associatedtype Store: ScheduleStore where Store.Transaction == Base.Transaction

  /// An empty ledger.
  var ledger: Base { get }
  /// An empty store.
  var store: Store { get }
}

extension ScheduleStoreUnderTest {
  func transaction<Result: Sendable>(
    _ body: @Sendable (Base.Transaction) async throws -> Result
  ) async throws -> Result { try await ledger.withTransaction(body) }
}
