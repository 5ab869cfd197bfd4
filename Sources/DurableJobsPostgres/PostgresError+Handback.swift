import DurableJobs
import LibPQClient

extension PostgresError: JobHandback {
  /// A pool without a free connection in time, and a server out of memory, disk or connections (SQLSTATE class 53), say
  /// nothing about the job that met them.
  public var handsJobBack: Bool { code == .poolExhausted || sqlState?.hasPrefix("53") == true }
}
