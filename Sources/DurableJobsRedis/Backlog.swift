import DurableJobs

extension RedisBroker {
  /// What of a queue's depth is worth watching all the time.
  public struct Backlog: Sendable, Hashable {
    public let ready: Int
    public let claimed: Int
    public let delayed: Int
    /// As in `QueueDepth`.
    public let oldestReadyAt: Int64?
  }

  /// How much there is to do in a queue. Of one in which there is nothing, Redis carries out three commands.
  public func backlog(of queue: QueueName) async throws -> Backlog {
    let numbers = try await numbers(4, AdminScripts.backlog, of: queue)
    return Backlog(
      ready: Int(numbers[0]), claimed: Int(numbers[1]), delayed: Int(numbers[2]),
      oldestReadyAt: numbers[3] < 0 ? nil : numbers[3])
  }
}
