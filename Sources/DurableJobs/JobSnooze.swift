/// What a handler throws to put its job off: it runs again after a while, and no attempt is counted.
///
/// ```swift
/// registry.register(PublishVideo.self) { job, context in
///   guard try await encoder.isDone(job.video) else { throw JobSnooze(for: .seconds(30)) }
///   …
/// }
/// ```
///
/// What the handler wrote in its transaction is undone, as with any error. In a batch put off single jobs with
/// ``JobBatch``'s `fail`.
public struct JobSnooze: Error, Sendable, Hashable, CustomStringConvertible {
  /// How long the job waits; what is less than zero is zero.
  public let delay: Duration

  public init(for delay: Duration) { self.delay = max(.zero, delay) }

  public var description: String { "the job is snoozed for \(delay)" }
}
