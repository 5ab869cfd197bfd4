/// An error that is not the job's fault: a server, a lock or a connection was temporarily unavailable. The job is
/// handed back and runs again soon; no attempt is counted.
public protocol JobHandback: Error {
  /// False if this value of the type is a failure of the job after all.
  var handsJobBack: Bool { get }
}

extension JobHandback {
  public var handsJobBack: Bool { true }
}

/// Another transaction holds the job's row in the ledger, for example that of a frozen worker.
public struct JobHeld: JobHandback, CustomStringConvertible {
  public init() {}
  public var description: String { "another transaction holds this job's row" }

  /// The pause before such a job is retried.
  static let pause = Duration.milliseconds(500)
}
