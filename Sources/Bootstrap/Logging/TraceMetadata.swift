import DurableJobs
import Logging

extension Logger.MetadataProvider {
  /// The trace of the task that logs, so that lines of whatever library are found by it too.
  public static let trace = Logger.MetadataProvider {
    TraceContext.current.map { [LogKeys.trace: "\($0.id)"] } ?? [:]
  }
}
