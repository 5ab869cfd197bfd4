import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient

/// Operations on jobs: view, enqueue, retry, cancel. Each operation that makes a change takes the actor and is
/// recorded in the action log.
public struct JobAdmin: Sendable {
  let client: JobClient<RedisBroker, PostgresLedger>
  public let kinds: JobKinds
  let clock: any Clock<Duration>

  /// The database that stores the jobs.
  public var database: JobsDatabase { client.ledger.database }
  /// The broker that decides which of them runs next.
  public var broker: RedisBroker { client.broker }

  /// - Parameters:
  ///   - client: gives access to the jobs, and limits how long their push may take.
  ///   - clock: measures how long callers wait.
  public init(
    _ client: JobClient<RedisBroker, PostgresLedger>, kinds: JobKinds, clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.client = client
    self.kinds = kinds
    self.clock = clock
  }

  // MARK: Read

  /// A page of the jobs that match `filter`: pending ones, unless it names a state of jobs that are not pending.
  ///
  /// - Throws: `.usage` for an invalid limit or cursor.
  public func page(_ filter: JobFilter) async throws -> JobPage { try await Self.page(filter, on: database) }

  /// The same with a database and no broker.
  public static func page(_ filter: JobFilter, on database: JobsDatabase) async throws -> JobPage {
    try OperationError.check(limit: filter.limit)
    if filter.state?.isPending ?? true { return try await PendingListing(filter: filter, database: database).page() }
    return try await FinishedListing(filter: filter, database: database).page()
  }

  /// - Throws: `.usage` if `id` cannot be a job's; `.notFound` if it is neither pending nor dead and no record of its
  ///   end is kept.
  public func show(_ id: String) async throws -> JobDetail {
    let id = try Self.parse(id)
    let history = try await database.history(of: id)
    guard let job = try await database.wholeJob(id) else { throw Self.unknown(id) }
    guard case .pending = job.row.place else { return JobDetail(job, isInBroker: nil, history) }
    let isMissing = try await !client.broker.missing([id], in: job.row.queue).isEmpty
    let running = RunningJobs(try await database.runningJobs())
    return JobDetail(job, isInBroker: !isMissing, history, isRunning: running.contains(id))
  }

  /// The job's current ledger entry, in which a running job looks like a waiting one; nil if there is none.
  func summary(_ id: JobID) async throws -> JobSummary? { try await database.job(id).map { JobSummary($0) } }

  static func unknown(_ id: JobID) -> OperationError {
    OperationError(.notFound, "no job \(id) is pending or dead: it is done, or it never existed")
  }

  /// - Parameter what: the name of the expected value, for the message.
  static func parse(_ text: String, _ what: String = "a job's id") throws(OperationError) -> JobID {
    guard let id = JobID(text) else {
      throw OperationError(
        .usage,
        "'\(text)' is not \(what), which looks like \(JobID.min(at: Date(timeIntervalSince1970: 1_700_000_000)))")
    }
    return id
  }
}

extension JobAdmin {
  /// Enqueues a job and pushes it.
  ///
  /// - Throws: `.usage`, `.data`, `.forbidden`; `.conflict` if its unique key is already pending.
  public func enqueue(_ request: JobRequest, by actor: Operator) async throws -> JobRecord {
    let record = try kinds.record(request)
    do {
      try await client.transaction { transaction in
        guard try await transaction.add([record]) == [record.id] else {
          throw OperationError(
            .conflict,
            "not enqueued: a job with the unique key '\(request.uniqueKey ?? "")' is pending in \(record.queue)")
        }
        try await ActionLog(database).record(
          "jobs.enqueue", record.id.description,
          detail: ["kind": record.kind.rawValue, "queue": record.queue.rawValue], by: actor, in: transaction.sql)
      }
    } catch let error as UniqueKeyHeld {
      throw OperationError(.conflict, "not enqueued: \(error)")
    }
    return record
  }

  /// Makes a job run at once: a dead letter starts over from its first attempt, a delayed job is due now.
  ///
  /// - Returns: the job after the change.
  /// - Throws: `.usage`, `.notFound`, `.forbidden`; `.conflict` where there is nothing to do.
  public func retry(_ text: String, by actor: Operator) async throws -> JobSummary {
    let id = try Self.parse(text)
    guard let job = try await summary(id) else { throw Self.unknown(id) }
    let queue = QueueName(rawValue: job.queue)
    switch job.state {
    case .dead: return try await retryDead(text, by: actor)
    case .done, .cancelled, .deleted, .discarded, .replaced:
      throw OperationError(.conflict, "job \(id) is \(job.state.rawValue): enqueue a new one instead")
    case .parked:
      throw OperationError(
        .conflict,
        """
        job \(id) is parked because no worker knows \(job.kind) in its version: it runs once a worker that does is \
        started
        """
      )
    case .waiting, .running:
      if try await client.broker.missing([id], in: queue).isEmpty {
        throw OperationError(.conflict, "job \(id) is already ready or running")
      }
    case .delayed, .retrying: break
    }
    try await database.pool.transaction { transaction in
      try await database.schema.makeDue(id, in: queue, in: transaction)
      try await ActionLog(database).record("jobs.retry", id.description, by: actor, in: transaction)
    }
    if try await client.broker.promote([id], in: queue).isEmpty {
      // Pushing a job that the broker already knows changes nothing.
      await client.pushPending(try await client.ledger.records([id], queue: queue))
    }
    guard let now = try await summary(id) else { throw Self.unknown(id) }
    return now
  }

  /// Reschedules a job that is not running.
  ///
  /// - Returns: the job after the change.
  /// - Throws: `.usage`, `.notFound`, `.forbidden`; `.conflict` if it runs, is parked, dead or ended.
  public func reschedule(_ text: String, at moment: Date, by actor: Operator) async throws -> JobSummary {
    let id = try Self.parse(text)
    guard let job = try await summary(id) else { throw Self.unknown(id) }
    guard job.state.isPending, job.state != .parked else {
      throw OperationError(.conflict, "job \(id) is \(job.state.rawValue): only a waiting job can be rescheduled")
    }
    let queue = QueueName(rawValue: job.queue)
    let isRunning = OperationError(.conflict, "job \(id) is running or about to run: it cannot be rescheduled")
    try await database.pool.transaction { transaction in
      // The worker that runs the job may hold the row.
      guard try await database.schema.reschedule(id, in: queue, at: moment, in: transaction) else { throw isRunning }
      try await ActionLog(database).record(
        "jobs.reschedule", id.description, detail: ["at": moment.formatted(.iso8601)], by: actor, in: transaction)
      let isMoved = try await !client.broker.reschedule([id], in: queue, to: moment).isEmpty
      if !isMoved, try await client.broker.missing([id], in: queue).isEmpty { throw isRunning }
    }
    // The broker now knows the job if it did not before; if it has no room, the relay pushes it later.
    await client.pushPending(try await client.ledger.records([id], queue: queue))
    guard let now = try await summary(id) else { throw Self.unknown(id) }
    return now
  }

  /// Deletes a dead letter; a record of it is kept for a while.
  ///
  /// - Throws: `.usage`, `.notFound`, `.forbidden`; `.conflict` if it is not dead.
  public func delete(_ text: String, by actor: Operator) async throws -> JobSummary {
    let id = try Self.parse(text)
    guard try await !deadLetters.delete(.one(id), by: actor).isEmpty else {
      guard let job = try await summary(id) else { throw Self.unknown(id) }
      throw OperationError(
        .conflict, "job \(id) is not dead but \(job.state.rawValue): a pending job is cancelled, not deleted")
    }
    guard let now = try await summary(id) else { throw Self.unknown(id) }
    return now
  }

  /// Waits until a job is no longer pending.
  ///
  /// - Returns: the job in its final state, which may be `dead`.
  /// - Throws: `.usage`, `.notFound`; `.failed` if it is still pending after `limit`.
  public func wait(for text: String, limit: Duration) async throws -> JobSummary {
    let id = try Self.parse(text)
    var (left, pause) = (limit, Duration.milliseconds(20))
    var last: JobSummary?
    while true {
      if let job = try await summary(id) {
        if !job.state.isPending { return job }
        last = job
      } else {
        // A job that succeeds at its first attempt leaves one trace: the action that enqueued it.
        if let last { return last.done }
        guard let done = try await asked(id) else { throw Self.unknown(id) }
        return done
      }
      guard left > .zero else {
        throw OperationError(
          .failed,
          "job \(id) is still \(last?.state.rawValue ?? "pending") after \(limit): check that a worker serves its queue"
        )
      }
      let nap = min(pause, left)
      try await clock.sleep(for: nap)
      left -= nap
      pause = min(pause * 2, .milliseconds(500))
    }
  }

  /// The job that an enqueue action in the log names, when nothing else is known of it.
  private func asked(_ id: JobID) async throws -> JobSummary? {
    try await database.action("jobs.enqueue", on: id.description).map { action in
      JobSummary(
        id: id.description, kind: action.detail["kind"] ?? "", queue: action.detail["queue"] ?? "", state: .done,
        priority: "", attempts: 1, createdAt: action.at, runAt: nil, diedAt: nil, endedAt: nil, uniqueKey: nil,
        error: nil)
    }
  }
}

extension JobSummary {
  /// The same job, done.
  fileprivate var done: JobSummary {
    JobSummary(
      id: id, kind: kind, queue: queue, state: .done, priority: priority, attempts: attempts, createdAt: createdAt,
      runAt: nil, diedAt: nil, endedAt: nil, uniqueKey: uniqueKey, error: error)
  }
}

extension JobAdmin {
  /// Cancels a pending job without its effects. A waiting job ends at once. The worker of a running one is notified,
  /// and its transaction is rolled back.
  ///
  /// - Parameter patience: how long to wait for a worker.
  /// - Returns: the job after the change: cancelled, or done if it finished first.
  /// - Throws: `.usage`, `.notFound`, `.forbidden`; `.conflict` if it is not pending; `.failed` if its worker has not
  ///   ended it within `patience`, and then it may still do so.
  public func cancel(_ text: String, by actor: Operator, patience: Duration = .seconds(10)) async throws -> JobSummary {
    let id = try Self.parse(text)
    guard let job = try await summary(id) else { throw Self.unknown(id) }
    guard job.state.isPending else { throw OperationError(.conflict, "job \(id) is already \(job.state.rawValue)") }
    let queue = QueueName(rawValue: job.queue)
    var (left, isNoted) = (patience, false)
    while true {
      if try await end(id, queue, isNoted ? nil : actor) {
        try await forget(id, queue, isNotified: isNoted)
        break
      }
      isNoted = true
      let now = try await summary(id)
      if now?.state.isPending != true {
        // The job may have ended while the order was written.
        try await database.forgetOrder(toEnd: id)
        guard let now else { throw OperationError(.conflict, "job \(id) finished before it could be cancelled") }
        return now
      }
      guard left > .zero else {
        throw OperationError(
          .failed, "job \(id) is running, and was not cancelled within \(patience); its cancellation stays pending")
      }
      let nap = min(left, .milliseconds(100))
      try await clock.sleep(for: nap)
      left -= nap
    }
    guard let now = try await summary(id) else { throw Self.unknown(id) }
    return now
  }

  /// Ends a job. If an open transaction holds it, the worker that runs it is ordered to cancel it.
  ///
  /// - Parameter actor: the requester to record; nil if that is already recorded.
  /// - Returns: whether it has ended.
  private func end(_ id: JobID, _ queue: QueueName, _ actor: Operator?) async throws -> Bool {
    try await database.pool.transaction { transaction in
      let isEnded = try await !client.ledger.cancelUnheld([id], queue: queue, in: transaction).isEmpty
      if let actor { try await ActionLog(database).record("jobs.cancel", id.description, by: actor, in: transaction) }
      if !isEnded { try await database.schema.orderToEndPending([id], in: queue, in: transaction) }
      return isEnded
    }
  }

  /// Removes an ended job from the broker. If a worker has the job, the worker is notified: its transaction would find
  /// nothing to end in any case, and the notice saves it the rest of the run.
  ///
  /// - Parameter isNotified: whether the worker was already notified and has dropped the job.
  private func forget(_ id: JobID, _ queue: QueueName, isNotified: Bool) async throws {
    if try await client.broker.remove([id], from: queue).isEmpty, !isNotified,
      try await client.broker.missing([id], in: queue).isEmpty
    {
      try await database.pool.transaction { try await client.ledger.orderToEnd([id], queue: queue, in: $0) }
    } else {
      try await database.forgetOrder(toEnd: id)
    }
  }
}
