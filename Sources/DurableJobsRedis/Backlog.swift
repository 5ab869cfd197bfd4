#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs

extension RedisBroker {
  /// The part of a queue's depth that is cheap enough to watch continuously.
  public struct Backlog: Sendable, Hashable {
    public let ready: Int
    public let claimed: Int
    public let delayed: Int
    /// As in `QueueDepth`.
    public let oldestReadyAt: Date?
  }

  /// The amount of work in a queue. For an empty queue Redis runs three commands.
  public func backlog(of queue: QueueName) async throws -> Backlog {
    let numbers = try await numbers(4, AdminScripts.backlog, of: queue)
    return Backlog(
      ready: Int(numbers[0]), claimed: Int(numbers[1]), delayed: Int(numbers[2]),
      oldestReadyAt: numbers[3] < 0 ? nil : Date(unixMilliseconds: numbers[3]))
  }
}
