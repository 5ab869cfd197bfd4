/// An error that says nothing about the job: a server, a lock or a connection was not to be had just now. Its job is
/// handed back and runs again soon, with no attempt counted.
public protocol JobHandback: Error {
  /// False where this value of the type is a failure of the job after all.
  var handsJobBack: Bool { get }
}

extension JobHandback {
  public var handsJobBack: Bool { true }
}

/// Another transaction holds the job's row in the ledger, such as one of a worker that froze in it.
public struct JobHeld: JobHandback, CustomStringConvertible {
  public init() {}
  public var description: String { "another transaction holds this job's row" }

  /// How long such a job waits until it is tried again.
  static let pause = Duration.milliseconds(500)
}
