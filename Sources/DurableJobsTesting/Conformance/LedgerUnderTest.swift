import DurableJobs

/// One promise that every ledger keeps.
public typealias LedgerCheck = ConformanceCheck<any LedgerUnderTest>

/// What every `Ledger` keeps, whatever it is made of.
public enum LedgerConformance {
  public static let checks =
    LedgerTransactionChecks.all + LedgerUniqueKeyChecks.all + LedgerFailureChecks.all + LedgerFinishedChecks.all
    + LedgerParkChecks.all + LedgerLockChecks.all + LedgerLeadChecks.all
}

/// A ledger that a check runs on, and what the check reads in it that the queue itself never reads.
public protocol LedgerUnderTest: Sendable {
  associatedtype Base: Ledger

  /// One that holds no job. At least ten of its transactions can be open at once.
  var ledger: Base { get }
  /// All dead letters.
  func deadLetters() async throws -> [JobID: DeadRecord]
  /// The records of jobs that were cancelled, or done after a failure.
  func finishedJobs() async throws -> [JobID: FinishedRecord]
}

/// What a ledger keeps of a dead job.
public struct DeadRecord: Sendable, Equatable {
  public var kind: JobKind
  /// How often it was tried.
  public var attempts: Int
  /// What each attempt failed with, oldest first.
  public var errors: [String]

  public init(kind: JobKind, attempts: Int, errors: [String]) {
    self.kind = kind
    self.attempts = attempts
    self.errors = errors
  }
}

/// What a ledger keeps of a finished job.
public struct FinishedRecord: Sendable, Equatable {
  public var state: FinishedJob.State
  /// How often it was tried and failed.
  public var attempts: Int
  /// What each failed attempt failed with, oldest first.
  public var errors: [String]

  public init(state: FinishedJob.State, attempts: Int, errors: [String]) {
    self.state = state
    self.attempts = attempts
    self.errors = errors
  }
}
