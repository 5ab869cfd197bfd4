import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient

/// What an operator does with queues: look, pause, resume, clear, drain.
public struct QueueAdmin: Sendable {
  let pool: PostgresPool
  let broker: RedisBroker
  let known: [QueueName]
  let now: @Sendable () -> Date
  let clock: any Clock<Duration>

  /// - Parameters:
  ///   - known: the queues to list even if nothing is pending in them.
  ///   - now: the time of day, beside which waiting times are told.
  ///   - clock: measures how long somebody waits.
  public init(
    pool: PostgresPool, broker: RedisBroker, known: [QueueName],
    now: @escaping @Sendable () -> Date = { JobClock.now }, clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.pool = pool
    self.broker = broker
    self.known = known
    self.now = now
    self.clock = clock
  }

  // MARK: Look

  /// All queues, by name: known ones, and those that have pending jobs, are paused or have a worker.
  public func list() async throws -> [QueueSummary] {
    let facts = try await facts()
    return try await withThrowingTaskGroup(of: QueueSummary.self) { group in
      for queue in facts.names {
        group.addTask { summary(of: queue, facts, try await broker.depth(of: queue)) }
      }
      return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.queue < $1.queue }
    }
  }

  /// - Throws: `.notFound` for a queue that nobody knows, naming the nearest.
  public func show(_ name: String) async throws -> QueueDetail {
    let facts = try await facts()
    let queue = try Self.queue(name, of: facts)
    let depth = try await broker.depth(of: queue)
    let workers = try await WorkerAdmin(pool: pool).list().filter { $0.state != .lost }
    return QueueDetail(
      summary: summary(of: queue, facts, depth), high: depth.high, normal: depth.normal, low: depth.low,
      pausedAt: facts.pauses[queue]?.at, pausedBy: facts.pauses[queue]?.by,
      workers: workers.compactMap { worker in
        worker.queues.first { $0.queue == name }.map { served in
          QueueDetail.Worker(
            name: worker.name, slots: served.slots, running: worker.running.count { $0.queue == name })
        }
      }, kinds: try await Statistics(pool: pool, now: now).kinds(.hour, queue: name))
  }

  /// What Postgres knows of queues.
  private struct Facts: Sendable {
    var names: [QueueName] = []
    var pauses: [QueueName: (at: Date, by: String)] = [:]
    var parked: [QueueName: Int] = [:]
    var oldestRunning: [QueueName: Double] = [:]
  }

  private func facts() async throws -> Facts {
    let answers = try await pool.pipeline([
      LedgerQueues.query,
      "SELECT queue, paused_at, paused_by FROM queue_pauses",
      """
      SELECT DISTINCT served->>'queue' FROM workers, jsonb_array_elements(queues) AS served
      WHERE \(unescaped: WorkerPresence.isHeard)
      """,
      """
      SELECT run->>'queue', (extract(epoch FROM now()) - min((run->>'since')::bigint) / 1000.0)::float8
      FROM workers, jsonb_array_elements(running) AS run WHERE \(unescaped: WorkerPresence.isHeard) GROUP BY 1
      """,
    ])
    var facts = Facts()
    var names = Set(known).union(try answers[0].decode(String.self).map { QueueName(rawValue: $0) })
    for (queue, at, by) in try answers[1].decode(String.self, Date.self, String.self) {
      facts.pauses[QueueName(rawValue: queue)] = (at, by)
    }
    names.formUnion(facts.pauses.keys)
    names.formUnion(try answers[2].decode(String.self).map { QueueName(rawValue: $0) })
    for (queue, seconds) in try answers[3].decode(String.self, Double.self) {
      facts.oldestRunning[QueueName(rawValue: queue)] = max(0, seconds)
    }
    facts.names = names.sorted()
    let parked = try await pool.query(
      """
      SELECT name, (SELECT count(*) FROM (
        SELECT FROM jobs WHERE queue = name AND parked LIMIT \(QueueSummary.maxCounted)) AS counted)
      FROM unnest(\(facts.names.map(\.rawValue))) AS queues (name)
      """
    ).decode(String.self, Int.self)
    for (queue, count) in parked { facts.parked[QueueName(rawValue: queue)] = count }
    return facts
  }

  private func summary(of queue: QueueName, _ facts: Facts, _ depth: QueueDepth) -> QueueSummary {
    QueueSummary(
      queue: queue.rawValue, ready: depth.ready, delayed: depth.delayed, claimed: depth.claimed,
      workers: depth.workers, pending: depth.known, parked: facts.parked[queue] ?? 0,
      isPaused: facts.pauses[queue] != nil,
      oldestWaiting: depth.oldestReadyAt.map { max(0, now().timeIntervalSince1970 - Double($0) / 1000) },
      oldestRunning: facts.oldestRunning[queue])
  }

  /// The queue of this name.
  func queue(_ name: String) async throws -> QueueName { try Self.queue(name, of: try await facts()) }

  private static func queue(_ name: String, of facts: Facts) throws(OperationError) -> QueueName {
    let queue = QueueName(rawValue: name)
    if facts.names.contains(queue) { return queue }
    throw OperationError(.notFound, EditDistance.unknown("queue", name, of: facts.names.map(\.rawValue)).message)
  }
}
