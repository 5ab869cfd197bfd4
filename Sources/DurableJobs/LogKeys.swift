/// The metadata keys of all log lines about jobs.
public enum LogKeys {
  public static let job = "job_id"
  public static let kind = "kind"
  public static let queue = "queue"
  public static let attempt = "attempt"
  public static let worker = "worker"
  /// The trace of the request or tick that the job follows, in any process.
  public static let trace = "trace_id"
  public static let count = "count"
  public static let error = "error"
  /// Milliseconds until the next attempt.
  public static let delay = "retry_in_ms"
  public static let schedule = "schedule"
  /// When the tick was due.
  public static let tick = "tick"
}
