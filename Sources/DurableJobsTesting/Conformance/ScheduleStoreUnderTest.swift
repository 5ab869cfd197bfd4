import DurableJobs

/// A promise that every schedule store keeps.
public typealias ScheduleStoreCheck = ConformanceCheck<any ScheduleStoreUnderTest>

/// The promises of every `ScheduleStore` implementation.
public enum ScheduleStoreConformance {
  public static let checks = ScheduleStoreChecks.all
}

/// A schedule store under test, with the ledger whose transactions it uses.
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
