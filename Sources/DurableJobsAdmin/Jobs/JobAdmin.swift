import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient

/// What an operator does with jobs: look, ask for one, try one again, stop one. What changes something takes the name
/// of who does it, and stands in the action log.
public struct JobAdmin: Sendable {
  let client: JobClient<RedisBroker, PostgresLedger>
  public let kinds: JobKinds
  let clock: any Clock<Duration>

  /// Where the jobs are.
  public var database: JobsDatabase { client.ledger.database }
  /// Which of them runs next.
  public var broker: RedisBroker { client.broker }

  /// - Parameters:
  ///   - client: leads to the jobs, and says how long their push may take.
  ///   - clock: measures how long somebody waits.
  public init(
    _ client: JobClient<RedisBroker, PostgresLedger>, kinds: JobKinds, clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.client = client
    self.kinds = kinds
    self.clock = clock
  }

  // MARK: Look

  /// A page of the jobs that `filter` lets through: pending ones, unless it asks for a state in which nothing is
  /// pending.
  ///
  /// - Throws: `.usage` for a limit or a cursor that cannot be.
  public func page(_ filter: JobFilter) async throws -> JobPage { try await Self.page(filter, on: database) }

  /// The same, where there is a database and no broker.
  public static func page(_ filter: JobFilter, on database: JobsDatabase) async throws -> JobPage {
    try OperationError.check(limit: filter.limit)
    if filter.state?.isPending ?? true { return try await PendingListing(filter: filter, database: database).page() }
    return try await FinishedListing(filter: filter, database: database).page()
  }

  /// - Throws: `.usage` if `id` cannot be a job's, `.notFound` if it is neither pending nor dead and no record of its
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

  /// The job as the ledger knows it now, to which a running one waits; nil if there is none.
  func summary(_ id: JobID) async throws -> JobSummary? { try await database.job(id).map { JobSummary($0) } }

  static func unknown(_ id: JobID) -> OperationError {
    OperationError(.notFound, "no job \(id) is pending or dead: it is done, or it never was")
  }

  /// - Parameter what: what the text should be, for the message.
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
  /// Owes a job and pushes it.
  ///
  /// - Throws: `.usage`, `.data`, `.forbidden`; `.conflict` if its unique key is pending already.
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

  /// Lets a job run at once: a dead letter from its first attempt on, one that waits for its time now.
  ///
  /// - Returns: the job as it is then.
  /// - Throws: `.usage`, `.notFound`, `.forbidden`; `.conflict` where there is nothing to do.
  public func retry(_ text: String, by actor: Operator) async throws -> JobSummary {
    let id = try Self.parse(text)
    guard let job = try await summary(id) else { throw Self.unknown(id) }
    let queue = QueueName(rawValue: job.queue)
    switch job.state {
    case .dead: return try await retryDead(text, by: actor)
    case .done, .cancelled, .deleted, .discarded, .replaced:
      throw OperationError(.conflict, "job \(id) is \(job.state.rawValue): ask for a new one instead")
    case .parked:
      throw OperationError(
        .conflict,
        """
        job \(id) is parked, since no worker knows \(job.kind) in its version: it runs when a worker that does is \
        started
        """
      )
    case .waiting, .running:
      if try await client.broker.missing([id], in: queue).isEmpty {
        throw OperationError(.conflict, "job \(id) is ready or running already")
      }
    case .delayed, .retrying: break
    }
    try await database.pool.transaction { transaction in
      try await database.schema.makeDue(id, in: queue, in: transaction)
      try await ActionLog(database).record("jobs.retry", id.description, by: actor, in: transaction)
    }
    if try await client.broker.promote([id], in: queue).isEmpty {
      // Pushing what it knows changes nothing.
      await client.pushPending(try await client.ledger.records([id], queue: queue))
    }
    guard let now = try await summary(id) else { throw Self.unknown(id) }
    return now
  }

  /// Reschedules a job that is not running.
  ///
  /// - Returns: the job as it is then.
  /// - Throws: `.usage`, `.notFound`, `.forbidden`; `.conflict` if it runs, is parked, dead or ended.
  public func reschedule(_ text: String, at moment: Date, by actor: Operator) async throws -> JobSummary {
    let id = try Self.parse(text)
    guard let job = try await summary(id) else { throw Self.unknown(id) }
    guard job.state.isPending, job.state != .parked else {
      throw OperationError(.conflict, "job \(id) is \(job.state.rawValue): only one that waits can be rescheduled")
    }
    let queue = QueueName(rawValue: job.queue)
    let isRunning = OperationError(.conflict, "job \(id) runs, or is about to: it cannot be rescheduled")
    try await database.pool.transaction { transaction in
      // Who runs it may hold the row.
      guard try await database.schema.reschedule(id, in: queue, at: moment, in: transaction) else { throw isRunning }
      try await ActionLog(database).record(
        "jobs.reschedule", id.description, detail: ["at": moment.formatted(.iso8601)], by: actor, in: transaction)
      let isMoved = try await !client.broker.reschedule([id], in: queue, to: moment).isEmpty
      if !isMoved, try await client.broker.missing([id], in: queue).isEmpty { throw isRunning }
    }
    // Where the broker did not know it, it does now; or later, if it has no room for it.
    await client.pushPending(try await client.ledger.records([id], queue: queue))
    guard let now = try await summary(id) else { throw Self.unknown(id) }
    return now
  }

  /// Throws a dead letter away; a record of it is kept for a while.
  ///
  /// - Throws: `.usage`, `.notFound`, `.forbidden`; `.conflict` if it is not dead.
  public func delete(_ text: String, by actor: Operator) async throws -> JobSummary {
    let id = try Self.parse(text)
    guard try await !deadLetters.delete(.one(id), by: actor).isEmpty else {
      guard let job = try await summary(id) else { throw Self.unknown(id) }
      throw OperationError(
        .conflict, "job \(id) is not dead but \(job.state.rawValue): what is pending is cancelled, not deleted")
    }
    guard let now = try await summary(id) else { throw Self.unknown(id) }
    return now
  }

  /// Waits until a job is not pending any more.
  ///
  /// - Returns: the job as it ended; `dead` is such an end.
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
        // A job that is done at its first attempt leaves one trace: that somebody asked for it.
        if let last { return last.done }
        guard let done = try await asked(id) else { throw Self.unknown(id) }
        return done
      }
      guard left > .zero else {
        throw OperationError(
          .failed,
          "job \(id) is still \(last?.state.rawValue ?? "pending") after \(limit): does a worker serve its queue?"
        )
      }
      let nap = min(pause, left)
      try await clock.sleep(for: nap)
      left -= nap
      pause = min(pause * 2, .milliseconds(500))
    }
  }

  /// A job of which only the action is known that asked for it.
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
  /// Ends a pending job, without its effects: one that waits at once; of one that runs, the worker is told, and what
  /// its transaction wrote is undone.
  ///
  /// - Parameter patience: how long to wait for a worker.
  /// - Returns: the job as it is then: cancelled, or done where it was faster.
  /// - Throws: `.usage`, `.notFound`, `.forbidden`; `.conflict` if it is not pending; `.failed` if its worker has not
  ///   ended it within `patience`, and then it may still do so.
  public func cancel(_ text: String, by actor: Operator, patience: Duration = .seconds(10)) async throws -> JobSummary {
    let id = try Self.parse(text)
    guard let job = try await summary(id) else { throw Self.unknown(id) }
    guard job.state.isPending else { throw OperationError(.conflict, "job \(id) is \(job.state.rawValue) already") }
    let queue = QueueName(rawValue: job.queue)
    var (left, isNoted) = (patience, false)
    while true {
      if try await end(id, queue, isNoted ? nil : actor) {
        try await forget(id, queue, isTold: isNoted)
        break
      }
      isNoted = true
      let now = try await summary(id)
      if now?.state.isPending != true {
        // It may have ended while the order was written.
        try await database.forgetOrder(toEnd: id)
        guard let now else { throw OperationError(.conflict, "job \(id) is done: it was faster") }
        return now
      }
      guard left > .zero else {
        throw OperationError(
          .failed, "job \(id) runs, and its worker has not ended it in \(patience); it has been told to")
      }
      let nap = min(left, .milliseconds(100))
      try await clock.sleep(for: nap)
      left -= nap
    }
    guard let now = try await summary(id) else { throw Self.unknown(id) }
    return now
  }

  /// Ends a job. Where an open transaction holds it, the worker that runs it is told to cancel it.
  ///
  /// - Parameter actor: who asks, to be noted; nil if that is noted already.
  /// - Returns: whether it has ended.
  private func end(_ id: JobID, _ queue: QueueName, _ actor: Operator?) async throws -> Bool {
    try await database.pool.transaction { transaction in
      let isEnded = try await !client.ledger.cancelUnheld([id], queue: queue, in: transaction).isEmpty
      if let actor { try await ActionLog(database).record("jobs.cancel", id.description, by: actor, in: transaction) }
      if !isEnded { try await database.schema.tellToEndPending([id], in: queue, in: transaction) }
      return isEnded
    }
  }

  /// Lets the broker forget a job that has ended. Where a worker has it, the worker is told: its transaction finds
  /// nothing to end whatever it does, and told, it does not go on in vain.
  ///
  /// - Parameter isTold: whether it was told already, and has let go.
  private func forget(_ id: JobID, _ queue: QueueName, isTold: Bool) async throws {
    if try await client.broker.remove([id], from: queue).isEmpty, !isTold,
      try await client.broker.missing([id], in: queue).isEmpty
    {
      try await database.pool.transaction { try await client.ledger.tellToEnd([id], queue: queue, in: $0) }
    } else {
      try await database.forgetOrder(toEnd: id)
    }
  }
}
