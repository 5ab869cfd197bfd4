import DurableJobs

/// One promise that every store of schedules keeps.
public typealias ScheduleStoreCheck = ConformanceCheck<any ScheduleStoreUnderTest>

/// What every `ScheduleStore` keeps, whatever it is made of.
public enum ScheduleStoreConformance {
  public static let checks = ScheduleStoreChecks.all
}

/// A store of schedules that a check runs on, beside the ledger whose transactions it takes part in.
public protocol ScheduleStoreUnderTest: Sendable {
  associatedtype Base: Ledger
  associatedtype Store: ScheduleStore where Store.Transaction == Base.Transaction

  /// One that holds no job.
  var ledger: Base { get }
  /// One that holds no schedule.
  var store: Store { get }
}

extension ScheduleStoreUnderTest {
  func transaction<Result: Sendable>(
    _ body: @Sendable (Base.Transaction) async throws -> Result
  ) async throws -> Result { try await ledger.withTransaction(body) }
}
