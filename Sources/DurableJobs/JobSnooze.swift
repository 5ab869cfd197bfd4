/// Thrown by a handler to postpone its job: it runs again after a delay, and no attempt is counted.
///
/// ```swift
/// registry.register(PublishVideo.self) { job, context in
///   guard try await encoder.isDone(job.video) else { throw JobSnooze(for: .seconds(30)) }
///   …
/// }
/// ```
///
/// The handler's transaction is rolled back, as with any error. In a batch, snooze single jobs with ``JobBatch``'s
/// `fail`.
public struct JobSnooze: Error, Sendable, Hashable, CustomStringConvertible {
  /// Time until the job runs again; negative values become zero.
  public let delay: Duration

  public init(for delay: Duration) { self.delay = max(.zero, delay) }

  public var description: String { "the job is snoozed for \(delay)" }
}
