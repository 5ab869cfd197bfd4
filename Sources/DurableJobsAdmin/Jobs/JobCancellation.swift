import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import LibPQClient

/// Ends pending jobs in the ledger and the broker.
struct JobCancellation: Sendable {
  let database: JobsDatabase
  let broker: RedisBroker

  /// Ends those of `ids` that no open transaction holds, and removes them from the broker. A job that cannot be removed
  /// is running on a worker or about to: that worker is notified and does not run it in vain.
  func cancelUnheld(_ ids: [JobID], of queue: QueueName) async throws -> [JobID] {
    let ledger = PostgresLedger(database)
    let gone = try await database.pool.transaction { try await ledger.cancelUnheld(ids, queue: queue, in: $0) }
    let claimed = Set(gone).subtracting(try await broker.remove(gone, from: queue))
    let unknown = try await broker.missing(Array(claimed), in: queue)
    let left = claimed.subtracting(unknown).sorted()
    if !left.isEmpty { try await database.pool.transaction { try await ledger.orderToEnd(left, queue: queue, in: $0) } }
    return gone
  }

  /// Notifies the workers that hold jobs in open transactions.
  ///
  /// - Returns: how many of them are still pending.
  func order(_ ids: [JobID], of queue: QueueName) async throws -> Int {
    let pending = try await PostgresLedger(database).pending(ids, queue: queue)
    if pending.isEmpty { return 0 }
    try await database.pool.transaction { try await database.schema.orderToEndPending(pending, in: queue, in: $0) }
    return pending.count
  }
}
