import DurableJobs
import Foundation
import LibPQClient

/// What an operator does with workers: look, let them claim no more, end them.
public struct WorkerAdmin: Sendable {
  private let pool: PostgresPool

  public init(pool: PostgresPool) {
    self.pool = pool
  }

  /// All that are there, and those that went without a word less than an hour ago, by name.
  public func list() async throws -> [WorkerSummary] {
    let answers = try await pool.pipeline([
      """
      SELECT name, host, pid, version, started_at, seen_at,
        CASE WHEN \(unescaped: WorkerPresence.isHeard) THEN state ELSE 'lost' END, orders, queues, running
      FROM workers WHERE \(unescaped: WorkerPresence.isListed) ORDER BY name
      """,
      "SELECT queue FROM queue_pauses",
    ])
    let paused = Set(try answers[1].decode(String.self))
    return try answers[0].map { row in
      let (name, host, pid, version, startedAt, seenAt, state, orders, queues, running) = try row.decode(
        String.self, String.self, Int.self, String.self, Date.self, Date.self, String.self, String?.self,
        PostgresJSON.self, PostgresJSON.self)
      let served = try JSONDecoder().decode([WorkerReport.Queue].self, from: Data(queues.bytes))
      let runs = try JSONDecoder().decode([WorkerReport.Running].self, from: Data(running.bytes))
      let isQuiet = state == "quiet" || state == "stopping"
      return WorkerSummary(
        name: name, host: host, pid: pid, version: version, startedAt: startedAt, seenAt: seenAt,
        state: WorkerSummary.State(rawValue: state) ?? .lost, orders: state == "lost" ? nil : orders,
        queues: served.map { queue in
          WorkerSummary.Queue(
            queue: queue.queue.rawValue, slots: queue.slots,
            isPaused: isQuiet || paused.contains(queue.queue.rawValue))
        }.sorted { $0.queue < $1.queue },
        running: runs.map { run in
          WorkerSummary.Running(
            id: run.id.description, kind: run.kind.rawValue, queue: run.queue.rawValue, attempt: run.attempt,
            since: Date(timeIntervalSince1970: Double(run.since) / 1000))
        })
    }
  }

  /// Lets a worker claim no more; what runs goes on, and so does the worker.
  ///
  /// - Parameter name: nil for all.
  /// - Returns: the names of those that were told; they hear it within a second.
  /// - Throws: `.notFound`, `.forbidden`.
  public func quiet(_ name: String?, by actor: Operator) async throws -> [String] {
    try await order("quiet", name, by: actor)
  }

  /// Ends a worker as SIGTERM does: it claims no more, finishes what runs, hands back the rest.
  ///
  /// - Parameter name: nil for all.
  /// - Returns: the names of those that were told; they hear it within a second.
  /// - Throws: `.notFound`, `.forbidden`.
  public func stop(_ name: String?, by actor: Operator) async throws -> [String] {
    try await order("stop", name, by: actor)
  }

  private func order(_ order: String, _ name: String?, by actor: Operator) async throws -> [String] {
    try actor.mustBeAbleToAct()
    return try await pool.transaction { transaction in
      // Who is to stop is not made quiet instead.
      let told = try await transaction.query(
        """
        UPDATE workers SET orders = CASE WHEN orders = 'stop' THEN orders ELSE \(order) END
        WHERE \(unescaped: WorkerPresence.isHeard) AND (\(name) IS NULL OR name = \(name)) RETURNING name
        """
      ).decode(String.self).sorted()
      if told.isEmpty, let name {
        let names = try await transaction.query(
          "SELECT name FROM workers WHERE \(unescaped: WorkerPresence.isListed)"
        ).decode(String.self)
        if names.contains(name) {
          throw OperationError(.notFound, "the worker \(name) is lost: nobody has heard of it for ten seconds")
        }
        throw OperationError(.notFound, EditDistance.unknown("worker", name, of: names).message)
      }
      for worker in told { try await ActionLog.record("workers.\(order)", worker, by: actor, in: transaction) }
      return told
    }
  }
}
