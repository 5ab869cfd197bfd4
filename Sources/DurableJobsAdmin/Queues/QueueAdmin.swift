import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient

/// Operations on queues: view, pause, resume, clear, drain.
public struct QueueAdmin: Sendable {
  let database: JobsDatabase
  let broker: RedisBroker
  let known: [QueueName]
  let now: @Sendable () -> Date
  let clock: any Clock<Duration>

  /// - Parameters:
  ///   - known: the queues to list even if they have no pending jobs.
  ///   - now: the current time, for waiting times.
  ///   - clock: measures how long callers wait.
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

  // MARK: Read

  /// All queues, by name: known ones, and those with pending jobs, a pause or a worker.
  public func list() async throws -> [QueueSummary] {
    let facts = try await facts()
    return try await withThrowingTaskGroup(of: QueueSummary.self) { group in
      for queue in facts.names {
        group.addTask { summary(of: queue, facts, try await broker.depth(of: queue)) }
      }
      return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.queue < $1.queue }
    }
  }

  /// - Throws: `.notFound` for an unknown queue, naming the nearest.
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
    numbers.oldestWaiting = depth.oldestReadyAt.map { max(0, now().timeIntervalSince($0)) }
    numbers.oldestRunning = facts.oldestRunning[queue]
    return QueueSummary(numbers, pending: depth.known, parked: facts.parked[queue] ?? 0)
  }

  func queue(_ name: String) async throws -> QueueName { try Self.queue(name, of: try await facts()) }

  private static func queue(_ name: String, of facts: QueueStates) throws(OperationError) -> QueueName {
    let queue = QueueName(rawValue: name)
    if facts.names.contains(queue) { return queue }
    throw OperationError(.notFound, EditDistance.unknown("queue", name, of: facts.names.map(\.rawValue)).message)
  }
}

extension QueueAdmin {
  /// Stops workers from claiming from a queue; running jobs continue. Pausing a paused queue changes nothing.
  ///
  /// - Throws: `.notFound`, `.forbidden`.
  public func pause(_ name: String, by actor: Operator) async throws {
    let queue = try await queue(name)
    try await database.pool.transaction { transaction in
      let isNew = try await database.schema.pause(queue, by: actor.name, in: transaction)
      try await ActionLog(database).record(
        "queues.pause", name, detail: isNew ? [:] : ["was": "paused"], by: actor, in: transaction)
    }
  }

  /// Lets workers claim from a queue again. Resuming a queue that is not paused changes nothing.
  ///
  /// - Throws: `.notFound`, `.forbidden`.
  public func resume(_ name: String, by actor: Operator) async throws {
    let queue = try await queue(name)
    try await database.pool.transaction { transaction in
      let wasPaused = try await database.schema.resume(queue, in: transaction)
      try await ActionLog(database).record(
        "queues.resume", name, detail: wasPaused ? [:] : ["was": "running"], by: actor, in: transaction)
    }
  }

  /// Waits until a queue has no pending jobs and the broker has none of its jobs.
  ///
  /// - Parameters:
  ///   - limit: how long to wait.
  ///   - progress: called now and then with the number of jobs left in the broker.
  /// - Throws: `.notFound`; `.conflict` if the queue is paused; `.failed` if jobs are left after `limit`.
  public func drain(
    _ name: String, limit: Duration, progress: @Sendable (Int) -> Void = { _ in }
  ) async throws {
    let queue = try await queue(name)
    var (left, pause) = (limit, Duration.milliseconds(50))
    while true {
      let (isPending, isPaused) = try await database.standing(of: queue)
      let depth = try await broker.depth(of: queue)
      let waiting = depth.ready + depth.claimed + depth.delayed
      progress(waiting)
      if !isPending, waiting == 0 { return }
      if isPaused {
        throw OperationError(.conflict, "the queue \(name) is paused, so its jobs do not run: resume it first")
      }
      guard left > .zero else {
        throw OperationError(
          .failed,
          """
          the queue \(name) is not empty after \(limit): \(depth.ready) ready, \(depth.claimed) claimed, \
          \(depth.delayed) delayed
          """)
      }
      let nap = min(left, pause)
      try await clock.sleep(for: nap)
      left -= nap
      pause = min(pause * 2, .milliseconds(500))
    }
  }
}

extension QueueAdmin {
  /// Cancels all jobs pending in a queue at the time of the call, and removes the jobs that only the broker has. A
  /// running job is cancelled and its transaction rolled back, unless only the broker has it: then it continues.
  ///
  /// - Parameters:
  ///   - patience: how long to wait for jobs that are in the middle of their transaction.
  ///   - progress: called after each batch with the number of jobs removed so far.
  /// - Returns: the number of jobs removed, without those that finished before they could be cancelled.
  /// - Throws: `.notFound`, `.forbidden`; `.failed` if some are still in their transaction after `patience`: all others
  ///   are gone, and the order to cancel those still applies.
  public func clear(
    _ name: String, by actor: Operator, patience: Duration = .seconds(10), progress: @Sendable (Int) -> Void = { _ in }
  ) async throws -> Int {
    let queue = try await queue(name)
    try await ActionLog(database).record("queues.clear", name, by: actor)
    // Up to the greatest id that can have been made by now.
    let end = JobID.min(at: now() + 0.001)
    var (after, cleared) = (JobID(high: 0, low: 0), 0)
    var held: [JobID] = []
    while true {
      let ids = try await database.allPendingIDs(in: queue, after: after, before: end, limit: Self.batch)
      guard let last = ids.last else { break }
      let gone = try await cancellation.cancelUnheld(ids, of: queue)
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
      \(cleared) jobs of \(name) are cancelled; \(left) more \(left == 1 ? "is" : "are") still in a transaction after \
      \(patience): their workers have been notified; run clear again to check
      """)
  }

  private static let batch = 1000

  private var cancellation: JobCancellation { JobCancellation(database: database, broker: broker) }

  /// Waits for jobs that were in the middle of a transaction. Their notified workers roll it back, unless they commit
  /// first.
  ///
  /// - Returns: how many were cancelled, and how many are still pending after `patience`.
  private func outlast(
    _ held: [JobID], of queue: QueueName, patience: Duration
  ) async throws -> (cancelled: Int, left: Int) {
    let ledger = PostgresLedger(database)
    var (pending, left) = (try await ledger.pending(held, queue: queue), patience)
    let running = pending
    try await database.pool.transaction { try await database.schema.orderToEndPending(running, in: queue, in: $0) }
    while true {
      _ = try await cancellation.cancelUnheld(pending, of: queue)
      pending = try await ledger.pending(pending, queue: queue)
      if pending.isEmpty || left <= .zero { break }
      let nap = min(left, .milliseconds(100))
      try await clock.sleep(for: nap)
      left -= nap
    }
    return (try await database.cancelledCount(of: held), pending.count)
  }
}
