import DurableJobs
import LibPQClient

extension PostgresError: JobHandback {
  /// A pool without a free connection in time, and a server out of memory, disk or connections (SQLSTATE class 53), say
  /// nothing about the job that met them. A limit that is configured for one statement (53400), such as
  /// `temp_file_limit`, does: the job would meet it each time.
  public var handsJobBack: Bool {
    code == .poolExhausted || sqlState.map { $0.hasPrefix("53") && $0 != "53400" } ?? false
  }
}
