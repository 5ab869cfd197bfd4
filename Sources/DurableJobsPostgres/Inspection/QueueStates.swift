#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import LibPQClient

/// What the tables tell of queues, without a look at the jobs themselves but for those that are parked.
package struct QueueStates: Sendable {
  /// A queue from which operators let nothing be claimed.
  package struct Pause: Sendable, Hashable {
    package let at: Date
    package let by: String
  }

  /// The queues that were asked for, and those that have pending jobs, are paused or have a worker.
  package fileprivate(set) var names: [QueueName] = []
  package fileprivate(set) var pauses: [QueueName: Pause] = [:]
  /// How many jobs are parked, up to `maxParked`.
  package fileprivate(set) var parked: [QueueName: Int] = [:]
  /// For how many seconds the job has run that has done so longest.
  package fileprivate(set) var oldestRunning: [QueueName: Double] = [:]
}

extension JobsDatabase {
  /// - Parameters:
  ///   - known: queues to name even if the tables do not.
  ///   - maxParked: where counting parked jobs ends.
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

  /// Whether anything is pending in a queue, and whether it is paused.
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
  /// The paused queues, since when and by whom, the first to be paused first.
  var pauses: PostgresQuery { "SELECT queue, paused_at, paused_by FROM \(queuePauses) ORDER BY paused_at" }

  /// Lets workers claim nothing more from a queue.
  ///
  /// - Returns: false where it is paused already.
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
  /// - Returns: false where it was not paused.
  package func resume(_ queue: QueueName, in transaction: PostgresTransaction) async throws -> Bool {
    try await transaction.execute("DELETE FROM \(queuePauses) WHERE queue = \(queue.rawValue)") > 0
  }
}
