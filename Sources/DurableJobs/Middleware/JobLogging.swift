import Logging

/// Logs how attempts end: dead letters as errors, failures and parked jobs as warnings, completed jobs at debug.
public struct JobLogging: JobMiddleware {
  public init() {}

  public var hooks: JobHooks { .ended }

  public func ended(_ end: AttemptEnd, logger: Logger) {
    let claim = end.claim
    switch end.outcome {
    case .completed: logger.debug("the job is done", metadata: metadata(end))
    case .failed:
      logger.warning("the job failed and will be retried", metadata: metadata(end))
    case .dead: logger.error("the job is dead", metadata: metadata(end))
    case .discarded: logger.notice("the handler discarded the job", metadata: metadata(end))
    case .snoozed: logger.info("the handler snoozed the job; no attempt is counted", metadata: metadata(end))
    case .handedBack: logger.info("the job is handed back; no attempt is counted", metadata: metadata(end))
    case .parked:
      logger.warning(
        "this worker does not know the job; it is parked for one that does",
        metadata: metadata(end).merging(["version": "\(claim.record.version)"]) { $1 })
    case .cancelled: logger.notice("an operator cancelled the job", metadata: metadata(end))
    default: break
    }
  }

  private func metadata(_ end: AttemptEnd) -> Logger.Metadata {
    let claim = end.claim
    var metadata: Logger.Metadata = [
      LogKeys.job: "\(claim.record.id)", LogKeys.kind: "\(claim.record.kind)", LogKeys.attempt: "\(claim.attempt)",
    ]
    if let trace = claim.record.trace { metadata[LogKeys.trace] = "\(trace.id)" }
    if let error = end.error { metadata[LogKeys.error] = "\(error)" }
    if let delay = end.delay { metadata[LogKeys.delay] = "\(delay.milliseconds)" }
    return metadata
  }
}
