#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import LibPQClient

/// Operators' changes to pending jobs.
extension JobsSchema {
  /// Makes a job due at once, unless it is parked.
  package func makeDue(_ id: JobID, in queue: QueueName, in transaction: PostgresTransaction) async throws {
    try await transaction.execute(
      """
      UPDATE \(jobs) SET run_at = NULL
      WHERE queue = \(queue.rawValue) AND id = \(PostgresUUID(id)) AND NOT parked
      """)
  }

  /// Reschedules a job, unless it is parked or another transaction, such as its worker's, holds it.
  ///
  /// - Returns: whether it was rescheduled.
  package func reschedule(
    _ id: JobID, in queue: QueueName, at moment: Date, in transaction: PostgresTransaction
  ) async throws -> Bool {
    try await transaction.execute(
      """
      UPDATE \(jobs) SET run_at = \(moment) WHERE queue = \(queue.rawValue) AND id IN (
        SELECT id FROM \(jobs) WHERE queue = \(queue.rawValue) AND id = \(PostgresUUID(id)) AND NOT parked
        FOR UPDATE SKIP LOCKED)
      """) > 0
  }

  /// Orders the worker that runs one of `ids` to end it. A job that is no longer pending gets no order: one statement
  /// reads and writes.
  package func orderToEndPending(
    _ ids: [JobID], in queue: QueueName, in transaction: PostgresTransaction
  ) async throws {
    if ids.isEmpty { return }
    try await transaction.execute(
      """
      INSERT INTO \(cancellations) (id, queue)
      SELECT id, queue FROM \(jobs)
      WHERE queue = \(queue.rawValue) AND id = ANY(\(ids.map { PostgresUUID($0) })) ORDER BY id
      ON CONFLICT DO NOTHING
      """)
  }
}

extension JobsDatabase {
  /// Deletes the order to end a job, once no worker needs it.
  package func forgetOrder(toEnd id: JobID) async throws {
    try await pool.execute("DELETE FROM \(schema.cancellations) WHERE id = \(PostgresUUID(id))")
  }

  /// The number of `ids` that were cancelled, as far as records are kept.
  package func cancelledCount(of ids: [JobID]) async throws -> Int {
    try await pool.query(
      """
      SELECT count(*) FROM \(schema.endedJobs)
      WHERE id = ANY(\(ids.map { PostgresUUID($0) })) AND state = 'cancelled'
      """)[0].decode(Int.self)
  }

  /// Deletes everything that the tables have of a queue, such as one made for a measurement: its pending jobs, dead
  /// letters and counts by the minute.
  package func deleteQueue(_ queue: QueueName) async throws {
    try await pool.pipeline([
      "DELETE FROM \(schema.jobs) WHERE queue = \(queue.rawValue)",
      "DELETE FROM \(schema.deadJobs) WHERE queue = \(queue.rawValue)",
      "DELETE FROM \(schema.minutes) WHERE queue = \(queue.rawValue)",
    ])
  }
}
