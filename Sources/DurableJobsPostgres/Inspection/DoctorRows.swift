#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import LibPQClient

/// The doctor's queries, on a dedicated connection.
extension JobsSchema {
  /// The number of dead letters and of parked jobs.
  package func deadAndParkedCounts(in transaction: PostgresTransaction) async throws -> (dead: Int, parked: Int) {
    let row = try await transaction.query(
      "SELECT (SELECT count(*) FROM \(deadJobs)), (SELECT count(*) FROM \(jobs) WHERE parked)")[0]
    let (dead, parked) = try row.decode(Int.self, Int.self)
    return (dead, parked)
  }

  /// The names of workers that vanished in the last hour, most recent first.
  package func lostWorkers(in transaction: PostgresTransaction) async throws -> [String] {
    try await transaction.query(
      """
      SELECT name FROM \(workers)
      WHERE \(unescaped: WorkerPresence.isListed) AND NOT (\(unescaped: WorkerPresence.isHeard))
      ORDER BY seen_at DESC
      """
    ).decode(String.self)
  }

  /// The schedules whose next tick is more than a minute ago, oldest first.
  package func overdueSchedules(in transaction: PostgresTransaction) async throws -> [String] {
    try await transaction.query(
      "SELECT name FROM \(schedules) WHERE NOT paused AND next_tick < now() - interval '1 minute' ORDER BY next_tick"
    ).decode(String.self)
  }

  /// The paused queues, longest paused first.
  package func pausedQueues(
    in transaction: PostgresTransaction
  ) async throws -> [(queue: String, at: Date, by: String)] {
    try await transaction.query(pauses).decode(String.self, Date.self, String.self).map { ($0, $1, $2) }
  }

  /// The first hundred pending jobs that the broker cannot accept, with the reasons.
  package func refusedJobs(
    in transaction: PostgresTransaction
  ) async throws -> [(id: JobID, queue: String, refusal: String)] {
    try await transaction.query(
      "SELECT id, queue, refusal FROM \(jobs) WHERE refusal IS NOT NULL ORDER BY queue, id LIMIT 100"
    ).decode(PostgresUUID.self, String.self, String.self).map { (JobID($0), $1, $2) }
  }
}
