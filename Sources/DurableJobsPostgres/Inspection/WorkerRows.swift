#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import LibPQClient

/// SQL conditions on workers' presence: a worker renews its row every second.
enum WorkerPresence {
  /// True for a worker that reported recently; the others are lost.
  static let isHeard = "seen_at > now() - interval '10 seconds'"
  /// True for a live worker, or one lost so recently that it is still listed.
  static let isListed = "seen_at > now() - interval '1 hour'"
}

/// A worker's row.
package struct WorkerRow: Sendable {
  package let name: String
  package let host: String
  package let pid: Int
  package let version: String
  package let startedAt: Date
  package let seenAt: Date
  /// Its last reported state; nil for a worker that has not reported for ten seconds.
  package let state: WorkerReport.State?
  /// The command that it has not carried out yet.
  package let command: String?
  package let queues: [WorkerReport.Queue]
  package let running: [WorkerReport.Running]

  fileprivate init(_ row: PostgresRow) throws {
    let (word, served, runs): (String?, PostgresJSON, PostgresJSON)
    (name, host, pid, version, startedAt, seenAt, word, command, served, runs) = try row.decode(
      String.self, String.self, Int.self, String.self, Date.self, Date.self, String?.self, String?.self,
      PostgresJSON.self, PostgresJSON.self)
    state = word.flatMap { WorkerReport.State(rawValue: $0) }
    queues = try JSONDecoder().decode([WorkerReport.Queue].self, from: Data(served.bytes))
    running = try JSONDecoder().decode([WorkerReport.Running].self, from: Data(runs.bytes))
  }
}

extension JobsDatabase {
  /// The live workers and those that vanished less than an hour ago, by name, and the queues that operators have
  /// paused.
  package func workers() async throws -> (workers: [WorkerRow], paused: Set<QueueName>) {
    let answers = try await pool.pipeline([
      """
      SELECT name, host, pid, version, started_at, seen_at,
        CASE WHEN \(unescaped: WorkerPresence.isHeard) THEN state END, orders, queues, running
      FROM \(schema.workers) WHERE \(unescaped: WorkerPresence.isListed) ORDER BY name
      """,
      "SELECT queue FROM \(schema.queuePauses)",
    ])
    return (
      try answers[0].map { try WorkerRow($0) },
      Set(try answers[1].decode(String.self).map { QueueName(rawValue: $0) })
    )
  }

  /// The jobs that workers report as running, up to a second ago, and their queues; at most `WorkerReport.maxRunning`
  /// per worker.
  package func runningJobs() async throws -> [JobID: QueueName] {
    let rows = try await pool.query(
      """
      SELECT (run->>'id')::uuid, run->>'queue' FROM \(schema.workers), jsonb_array_elements(running) AS run
      WHERE \(unescaped: WorkerPresence.isHeard)
      """
    ).decode(PostgresUUID.self, String.self)
    return Dictionary(rows.map { (JobID($0), QueueName(rawValue: $1)) }) { first, _ in first }
  }
}

extension JobsSchema {
  /// Leaves a command, `quiet` or `stop`, for the live workers. A pending `stop` is not replaced by `quiet`.
  ///
  /// - Parameter name: nil for all.
  /// - Returns: the names of the workers that will receive it, in order.
  package func leave(
    _ command: String, forWorker name: String?, in transaction: PostgresTransaction
  ) async throws -> [String] {
    try await transaction.query(
      """
      UPDATE \(workers) SET orders = CASE WHEN orders = 'stop' THEN orders ELSE \(command) END
      WHERE \(unescaped: WorkerPresence.isHeard) AND (\(name) IS NULL OR name = \(name)) RETURNING name
      """
    ).decode(String.self).sorted()
  }

  /// The names of live workers and of those that vanished less than an hour ago.
  package func workerNames(in transaction: PostgresTransaction) async throws -> [String] {
    try await transaction.query("SELECT name FROM \(workers) WHERE \(unescaped: WorkerPresence.isListed)")
      .decode(String.self)
  }
}
