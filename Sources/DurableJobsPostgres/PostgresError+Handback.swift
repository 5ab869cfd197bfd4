import DurableJobs
import LibPQClient

extension PostgresError: JobHandback {
  /// A connection that did not come free in time and a server without memory, disk or connections (SQLSTATE class 53)
  /// say nothing about the job that met them.
  public var handsJobBack: Bool { code == .poolExhausted || sqlState?.hasPrefix("53") == true }
}
