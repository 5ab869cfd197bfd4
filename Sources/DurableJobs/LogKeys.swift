/// The metadata keys under which everything about jobs is logged.
public enum LogKeys {
  public static let job = "job_id"
  public static let kind = "kind"
  public static let queue = "queue"
  public static let attempt = "attempt"
  public static let worker = "worker"
  /// Of the request or the tick that the job follows from, in whatever process.
  public static let trace = "trace_id"
  public static let count = "count"
  public static let error = "error"
  /// In milliseconds, until the next attempt.
  public static let delay = "retry_in_ms"
  public static let schedule = "schedule"
  /// When it was due.
  public static let tick = "tick"
}
