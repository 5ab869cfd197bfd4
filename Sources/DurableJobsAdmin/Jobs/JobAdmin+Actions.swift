import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient

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
    case .done, .cancelled, .deleted:
      throw OperationError(.conflict, "job \(id) is \(job.state.rawValue): ask for a new one instead")
    case .parked:
      throw OperationError(
        .conflict,
        "job \(id) is parked, since no worker knows \(job.kind) in its version: it runs when a worker that does is started"
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

  /// Lets a job that nobody runs be due at another time.
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
      let due = Int64(moment.timeIntervalSince1970 * 1000)
      let isMoved = try await !client.broker.reschedule([id], in: queue, to: due).isEmpty
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
        // Nothing is kept of a job that was done at the first attempt but that somebody asked for it.
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
