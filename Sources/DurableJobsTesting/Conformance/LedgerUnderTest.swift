import DurableJobs

/// A promise that every ledger keeps.
public typealias LedgerCheck = ConformanceCheck<any LedgerUnderTest>

/// The promises of every `Ledger` implementation.
public enum LedgerConformance {
  public static let checks =
    LedgerTransactionChecks.all + LedgerUniqueKeyChecks.all + LedgerFailureChecks.all + LedgerFinishedChecks.all
    + LedgerParkChecks.all + LedgerLockChecks.all + LedgerLeadChecks.all
}

/// A ledger under test, with reads that checks need and the queue itself does not.
public protocol LedgerUnderTest: Sendable {
  associatedtype Base: Ledger

  /// An empty ledger. At least ten of its transactions can be open at once.
  var ledger: Base { get }
  /// All dead letters.
  func deadLetters() async throws -> [JobID: DeadRecord]
  /// The records of jobs that were cancelled, or done after a failure.
  func finishedJobs() async throws -> [JobID: FinishedRecord]
}

/// A ledger's record of a dead job.
public struct DeadRecord: Sendable, Equatable {
  public var kind: JobKind
  /// The number of attempts.
  public var attempts: Int
  /// The error of each attempt, oldest first.
  public var errors: [String]

  public init(kind: JobKind, attempts: Int, errors: [String]) {
    self.kind = kind
    self.attempts = attempts
    self.errors = errors
  }
}

/// A ledger's record of a finished job.
public struct FinishedRecord: Sendable, Equatable {
  public var state: FinishedJob.State
  /// The number of failed attempts.
  public var attempts: Int
  /// The error of each failed attempt, oldest first.
  public var errors: [String]

  public init(state: FinishedJob.State, attempts: Int, errors: [String]) {
    self.state = state
    self.attempts = attempts
    self.errors = errors
  }
}
