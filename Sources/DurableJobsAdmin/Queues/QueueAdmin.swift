import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation

/// What an operator does with queues: look, pause, resume, clear, drain.
public struct QueueAdmin: Sendable {
  let database: JobsDatabase
  let broker: RedisBroker
  let known: [QueueName]
  let now: @Sendable () -> Date
  let clock: any Clock<Duration>

  /// - Parameters:
  ///   - known: the queues to list even if nothing is pending in them.
  ///   - now: the time of day, beside which waiting times are told.
  ///   - clock: measures how long somebody waits.
  public init(
    _ database: JobsDatabase, broker: RedisBroker, known: [QueueName],
    now: @escaping @Sendable () -> Date = { JobClock.now }, clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.database = database
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
    let workers = try await WorkerAdmin(database).list().filter { $0.state != .lost }
    return QueueDetail(
      summary: summary(of: queue, facts, depth), high: depth.high, normal: depth.normal, low: depth.low,
      pausedAt: facts.pauses[queue]?.at, pausedBy: facts.pauses[queue]?.by,
      workers: workers.compactMap { worker in
        worker.queues.first { $0.queue == name }.map { served in
          QueueDetail.Worker(
            name: worker.name, concurrency: served.concurrency, running: worker.running.count { $0.queue == name })
        }
      }, kinds: try await Statistics(database, now: now).kinds(.hour, queue: name))
  }

  private func facts() async throws -> QueueStates {
    try await database.queueStates(known: known, maxParked: QueueSummary.maxCounted)
  }

  private func summary(of queue: QueueName, _ facts: QueueStates, _ depth: QueueDepth) -> QueueSummary {
    var numbers = QueueNumbers(queue: queue.rawValue)
    (numbers.ready, numbers.delayed, numbers.claimed) = (depth.ready, depth.delayed, depth.claimed)
    numbers.workers = depth.workers
    numbers.isPaused = facts.pauses[queue] != nil
    numbers.oldestWaiting = depth.oldestReadyAt.map { max(0, now().timeIntervalSince1970 - Double($0) / 1000) }
    numbers.oldestRunning = facts.oldestRunning[queue]
    return QueueSummary(numbers, pending: depth.known, parked: facts.parked[queue] ?? 0)
  }

  /// The queue of this name.
  func queue(_ name: String) async throws -> QueueName { try Self.queue(name, of: try await facts()) }

  private static func queue(_ name: String, of facts: QueueStates) throws(OperationError) -> QueueName {
    let queue = QueueName(rawValue: name)
    if facts.names.contains(queue) { return queue }
    throw OperationError(.notFound, EditDistance.unknown("queue", name, of: facts.names.map(\.rawValue)).message)
  }
}
