import DurableJobs
import Logging

extension Logger.MetadataProvider {
  /// The trace of the current task, so that any library's lines can be found by it.
  public static let trace = Logger.MetadataProvider {
    TraceContext.current.map { [LogKeys.trace: "\($0.id)"] } ?? [:]
  }
}
