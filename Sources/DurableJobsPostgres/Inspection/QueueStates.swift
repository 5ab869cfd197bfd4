#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import LibPQClient

/// Figures for queues from the tables, without reading any jobs but the parked ones.
package struct QueueStates: Sendable {
  /// A queue paused by an operator.
  package struct Pause: Sendable, Hashable {
    package let at: Date
    package let by: String
  }

  /// The requested queues, and those with pending jobs, a pause or a worker.
  package fileprivate(set) var names: [QueueName] = []
  package fileprivate(set) var pauses: [QueueName: Pause] = [:]
  /// The number of parked jobs, up to `maxParked`.
  package fileprivate(set) var parked: [QueueName: Int] = [:]
  /// How long the longest-running job has run, in seconds.
  package fileprivate(set) var oldestRunning: [QueueName: Double] = [:]
}

extension JobsDatabase {
  /// - Parameters:
  ///   - known: queues to include even if the tables do not.
  ///   - maxParked: the limit at which the count of parked jobs stops.
  package func queueStates(known: [QueueName], maxParked: Int) async throws -> QueueStates {
    let answers = try await pool.pipeline([
      schema.queues, schema.pauses,
      """
      SELECT DISTINCT served->>'queue' FROM \(schema.workers), jsonb_array_elements(queues) AS served
      WHERE \(unescaped: WorkerPresence.isHeard)
      """,
      """
      SELECT run->>'queue', (extract(epoch FROM now()) - min((run->>'since')::bigint) / 1000.0)::float8
      FROM \(schema.workers), jsonb_array_elements(running) AS run
      WHERE \(unescaped: WorkerPresence.isHeard) GROUP BY 1
      """,
    ])
    var states = QueueStates()
    var names = Set(known).union(try answers[0].decode(String.self).map { QueueName(rawValue: $0) })
    for (queue, at, by) in try answers[1].decode(String.self, Date.self, String.self) {
      states.pauses[QueueName(rawValue: queue)] = QueueStates.Pause(at: at, by: by)
    }
    names.formUnion(states.pauses.keys)
    names.formUnion(try answers[2].decode(String.self).map { QueueName(rawValue: $0) })
    for (queue, seconds) in try answers[3].decode(String.self, Double.self) {
      states.oldestRunning[QueueName(rawValue: queue)] = max(0, seconds)
    }
    states.names = names.sorted()
    let parked = try await pool.query(
      """
      SELECT name, (SELECT count(*) FROM (
        SELECT FROM \(schema.jobs) WHERE queue = name AND parked LIMIT \(maxParked)) AS counted)
      FROM unnest(\(states.names.map(\.rawValue))) AS queues (name)
      """
    ).decode(String.self, Int.self)
    for (queue, count) in parked { states.parked[QueueName(rawValue: queue)] = count }
    return states
  }

  /// Whether a queue has pending jobs, and whether it is paused.
  package func standing(of queue: QueueName) async throws -> (isPending: Bool, isPaused: Bool) {
    let row = try await pool.query(
      """
      SELECT EXISTS(SELECT FROM \(schema.jobs) WHERE queue = \(queue.rawValue)),
        EXISTS(SELECT FROM \(schema.queuePauses) WHERE queue = \(queue.rawValue))
      """)[0]
    let (isPending, isPaused) = try row.decode(Bool.self, Bool.self)
    return (isPending, isPaused)
  }
}

extension JobsSchema {
  /// The paused queues, with the time and the operator, longest paused first.
  var pauses: PostgresQuery { "SELECT queue, paused_at, paused_by FROM \(queuePauses) ORDER BY paused_at" }

  /// Stops workers from claiming from a queue.
  ///
  /// - Returns: false if it is already paused.
  package func pause(
    _ queue: QueueName, by actor: String, in transaction: PostgresTransaction
  ) async throws -> Bool {
    try await transaction.execute(
      """
      INSERT INTO \(queuePauses) (queue, paused_by) VALUES (\(queue.rawValue), \(actor)) ON CONFLICT DO NOTHING
      """) > 0
  }

  /// Lets workers claim from a queue again.
  ///
  /// - Returns: false if it was not paused.
  package func resume(_ queue: QueueName, in transaction: PostgresTransaction) async throws -> Bool {
    try await transaction.execute("DELETE FROM \(queuePauses) WHERE queue = \(queue.rawValue)") > 0
  }
}
