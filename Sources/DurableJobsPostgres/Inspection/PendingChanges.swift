#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import LibPQClient

/// What an operator changes in pending jobs.
extension JobsSchema {
  /// Lets a job be due at once, unless it is parked.
  package func makeDue(_ id: JobID, in queue: QueueName, in transaction: PostgresTransaction) async throws {
    try await transaction.execute(
      """
      UPDATE \(jobs) SET run_at = NULL
      WHERE queue = \(queue.rawValue) AND id = \(PostgresUUID(id)) AND NOT parked
      """)
  }

  /// Lets a job be due at another time, unless it is parked or another transaction holds it, such as its worker's.
  ///
  /// - Returns: whether it is.
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

  /// Tells the worker that runs one of `ids` to end it. Of a job that is not pending any more there is no worker to be
  /// told: one statement reads and writes.
  package func tellToEndPending(
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
  /// Takes back the order to end a job, once nothing is left to be told.
  package func forgetOrder(toEnd id: JobID) async throws {
    try await pool.execute("DELETE FROM \(schema.cancellations) WHERE id = \(PostgresUUID(id))")
  }

  /// How many of `ids` were cancelled, as far as records are kept.
  package func cancelledCount(of ids: [JobID]) async throws -> Int {
    try await pool.query(
      """
      SELECT count(*) FROM \(schema.endedJobs)
      WHERE id = ANY(\(ids.map { PostgresUUID($0) })) AND state = 'cancelled'
      """)[0].decode(Int.self)
  }

  /// Takes away all that the tables have of a queue, such as one that was made for a measurement: its pending jobs, its
  /// dead letters and its counts by the minute.
  package func deleteQueue(_ queue: QueueName) async throws {
    try await pool.pipeline([
      "DELETE FROM \(schema.jobs) WHERE queue = \(queue.rawValue)",
      "DELETE FROM \(schema.deadJobs) WHERE queue = \(queue.rawValue)",
      "DELETE FROM \(schema.minutes) WHERE queue = \(queue.rawValue)",
    ])
  }
}
