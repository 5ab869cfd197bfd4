import DurableJobs
import HiredisClient

extension RedisBroker {
  /// Forgets a queue and all that is in it, such as one that a load test had for itself. What the ledger owes there is
  /// pushed again by the relay of whoever serves it.
  public func forget(_ queue: QueueName) async throws(BrokerError) {
    do throws(RedisError) {
      try await client.send(
        RedisCommand([any RedisArgument](["UNLINK", keys(of: queue).paused] + keys(of: queue).all)))
    } catch {
      throw Self.error(error)
    }
  }
}
