/// Thrown by a handler whose job is no longer wanted: the job ends, and a record with the reason is kept for a few days
/// as `discarded`. It is not retried and is no dead letter. A transaction that it is thrown out of is rolled back.
///
/// ```swift
/// guard let order = try await orders.find(job.order) else { throw JobDiscard("the order was deleted") }
/// ```
public struct JobDiscard: Error, Hashable, CustomStringConvertible {
  /// Why, for people.
  public let reason: String

  public init(_ reason: String) { self.reason = reason }

  public var description: String { reason }
}
