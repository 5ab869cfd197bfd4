import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient

extension QueueAdmin {
  /// Cancels all that is pending in a queue when it is called, and forgets the jobs that only the broker has. Whoever
  /// runs one is told to end it, and what its transaction wrote is undone; a job that only the broker has and that runs
  /// already goes on.
  ///
  /// - Parameters:
  ///   - patience: how long to wait for jobs that are in the middle of their transaction.
  ///   - progress: is called after each batch with how many jobs are gone so far.
  /// - Returns: how many jobs are gone; one that was done before it could be cancelled is not among them.
  /// - Throws: `.notFound`, `.forbidden`; `.failed` if some are still in their transaction after `patience`: all others
  ///   are gone, and the workers of those stay told.
  public func clear(
    _ name: String, by actor: Operator, patience: Duration = .seconds(10), progress: @Sendable (Int) -> Void = { _ in }
  ) async throws -> Int {
    let queue = try await queue(name)
    try await ActionLog(database).record("queues.clear", name, by: actor)
    // Up to the greatest id that can have been made by now.
    let end = JobID.min(at: Int64(now().timeIntervalSince1970 * 1000) + 1)
    var (after, cleared) = (JobID(high: 0, low: 0), 0)
    var held: [JobID] = []
    while true {
      let ids = try await database.allPendingIDs(in: queue, after: after, before: end, limit: Self.batch)
      guard let last = ids.last else { break }
      let gone = try await cancelUnheld(ids, of: queue)
      held += Set(ids).subtracting(gone)
      cleared += gone.count
      progress(cleared)
      after = last
    }
    cleared += try await broker.clear(queue)
    progress(cleared)
    if held.isEmpty { return cleared }
    let (ended, left) = try await outlast(held, of: queue, patience: patience)
    cleared += ended
    progress(cleared)
    if left == 0 { return cleared }
    throw OperationError(
      .failed,
      """
      \(cleared) jobs of \(name) are cancelled; \(left) more \(left == 1 ? "is" : "are") still in the middle of a \
      transaction after \(patience): whoever runs one has been told to end it; clear the queue again to see
      """)
  }

  private static let batch = 1000

  /// Ends those of `ids` that no open transaction holds, and lets the broker forget them. What it does not forget is in
  /// a worker's hands, running or about to: that worker is told, and does not go on in vain.
  private func cancelUnheld(_ ids: [JobID], of queue: QueueName) async throws -> [JobID] {
    let ledger = PostgresLedger(database)
    let gone = try await database.pool.transaction { try await ledger.cancelUnheld(ids, queue: queue, in: $0) }
    let claimed = Set(gone).subtracting(try await broker.remove(gone, from: queue))
    let unknown = try await broker.missing(Array(claimed), in: queue)
    let told = claimed.subtracting(unknown).sorted()
    if !told.isEmpty { try await database.pool.transaction { try await ledger.tellToEnd(told, queue: queue, in: $0) } }
    return gone
  }

  /// Waits for jobs that were in the middle of a transaction. Told, their workers undo it, or they were faster.
  ///
  /// - Returns: how many were cancelled, and how many are still pending after `patience`.
  private func outlast(
    _ held: [JobID], of queue: QueueName, patience: Duration
  ) async throws -> (cancelled: Int, left: Int) {
    let ledger = PostgresLedger(database)
    var (pending, left) = (try await ledger.pending(held, queue: queue), patience)
    let told = pending
    try await database.pool.transaction { try await database.schema.tellToEndPending(told, in: queue, in: $0) }
    while true {
      _ = try await cancelUnheld(pending, of: queue)
      pending = try await ledger.pending(pending, queue: queue)
      if pending.isEmpty || left <= .zero { break }
      let nap = min(left, .milliseconds(100))
      try await clock.sleep(for: nap)
      left -= nap
    }
    return (try await database.cancelledCount(of: held), pending.count)
  }
}
