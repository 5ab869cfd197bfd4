/// Thrown by a handler to discard a job that is no longer wanted. The job ends as `discarded`, and its record with the
/// reason is kept for a few days. It is neither retried nor a dead letter. A transaction that throws it is rolled back.
///
/// ```swift
/// guard let order = try await orders.find(job.order) else { throw JobDiscard("the order was deleted") }
/// ```
public struct JobDiscard: Error, Hashable, CustomStringConvertible {
  /// The reason, for people.
  public let reason: String

  public init(_ reason: String) { self.reason = reason }

  public var description: String { reason }
}
