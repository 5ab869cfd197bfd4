import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient

/// Operations on dead letters, one or many at a time.
public struct DeadLetters: Sendable {
  private let client: JobClient<RedisBroker, PostgresLedger>
  private let pages: JobPages

  /// A selection of dead letters.
  public enum Choice: Sendable {
    case one(JobID)
    /// All that a filter finds, whatever its state.
    case all(JobFilter)

    /// The selection's name in the action log.
    fileprivate var subject: String {
      switch self {
      case .one(let id): id.description
      case .all(let filter): filter.kind ?? "*"
      }
    }

    fileprivate func detail(_ count: Int) -> [String: String] {
      var detail = ["jobs": "\(count)"]
      if case .all(let filter) = self { detail.merge(filter.detail.filter { $0.key != "state" }) { $1 } }
      return detail
    }

    fileprivate func action(_ verb: String) -> String {
      switch self {
      case .one: "dead.\(verb)"
      case .all: "dead.\(verb)-all"
      }
    }
  }

  init(client: JobClient<RedisBroker, PostgresLedger>, clock: any Clock<Duration>) {
    self.client = client
    pages = JobPages(database: client.ledger.database, clock: clock)
  }

  private var database: JobsDatabase { client.ledger.database }

  /// Makes dead letters pending again, from their first attempt, under their old ids.
  ///
  /// A dead letter stays if another job is pending under its unique key.
  ///
  /// - Parameters:
  ///   - rate: the most jobs a second; nil for as fast as possible.
  ///   - progress: called after each batch with the number of jobs made pending so far.
  /// - Returns: the jobs that are pending again.
  /// - Throws: `.forbidden`.
  public func retry(
    _ choice: Choice, by actor: Operator, rate: Int? = nil, progress: @Sendable (Int) -> Void = { _ in }
  ) async throws -> [JobID] {
    try actor.mustBeAbleToAct()
    return try await inBatches(choice, rate, progress) { ids in
      try await client.transaction { transaction in
        let records = try await database.schema.lockedRecords(ids, in: transaction.sql)
        let added = try await transaction.readd(records)
        try await database.schema.forgetDead(added, in: transaction.sql)
        if !added.isEmpty {
          try await ActionLog(database).record(
            choice.action("retry"), choice.subject, detail: choice.detail(added.count), by: actor, in: transaction.sql)
        }
        return (added, records.last?.id)
      }
    }
  }

  /// Deletes dead letters; a record of each is kept for a while.
  ///
  /// - Parameters:
  ///   - rate: the most jobs a second; nil for as fast as possible.
  ///   - progress: called after each batch with the number deleted so far.
  /// - Returns: the deleted ones.
  /// - Throws: `.forbidden`.
  public func delete(
    _ choice: Choice, by actor: Operator, rate: Int? = nil, progress: @Sendable (Int) -> Void = { _ in }
  ) async throws -> [JobID] {
    try actor.mustBeAbleToAct()
    return try await inBatches(choice, rate, progress) { ids in
      try await database.pool.transaction { transaction in
        let ids = try await database.schema.deleteDead(ids, in: transaction)
        if ids.isEmpty { return (ids, nil) }
        try await ActionLog(database).record(
          choice.action("delete"), choice.subject, detail: choice.detail(ids.count), by: actor, in: transaction)
        return (ids, ids.last)
      }
    }
  }

  /// Walks through a selection. Jobs that die meanwhile are not included.
  ///
  /// - Parameter body: gets ids in order, and returns the jobs it changed and the last id it read, which may be any of
  ///   them; nil if it read none.
  private func inBatches(
    _ choice: Choice, _ rate: Int?, _ progress: @Sendable (Int) -> Void,
    _ body: ([JobID]) async throws -> (done: [JobID], last: JobID?)
  ) async throws -> [JobID] {
    guard case .all(var filter) = choice else {
      guard case .one(let id) = choice else { return [] }
      return try await body([id]).done
    }
    filter.state = .dead
    var done: [JobID] = []
    try await pages.walk(filter, rate: rate) { jobs in
      let before = done.count
      // Large payloads come in several batches.
      var ids = jobs.compactMap { JobID($0.id) }.sorted()
      while !ids.isEmpty {
        let batch = try await body(ids)
        guard let last = batch.last else { break }
        done += batch.done
        ids.removeAll { $0 <= last }
      }
      progress(done.count)
      return done.count - before
    }
    return done
  }
}

extension JobAdmin {
  /// The dead letters, to retry or delete.
  public var deadLetters: DeadLetters { DeadLetters(client: client, clock: clock) }

  /// Retries all dead letters, or those of one kind. A dead letter whose unique key is pending stays.
  ///
  /// - Returns: the number retried.
  public func retryDead(
    kind: String?, by actor: Operator, progress: @Sendable (Int) -> Void = { _ in }
  ) async throws -> Int {
    try await deadLetters.retry(.all(JobFilter(kind: kind)), by: actor, progress: progress).count
  }

  /// Deletes all dead letters, or those of one kind.
  ///
  /// - Returns: the number deleted.
  public func deleteDead(
    kind: String?, by actor: Operator, progress: @Sendable (Int) -> Void = { _ in }
  ) async throws -> Int {
    try await deadLetters.delete(.all(JobFilter(kind: kind)), by: actor, progress: progress).count
  }

  /// Retries one dead letter.
  ///
  /// - Throws: `.usage`, `.notFound`, `.forbidden`; `.conflict` if it is not dead, or another job is pending under its
  ///   unique key.
  public func retryDead(_ text: String, by actor: Operator) async throws -> JobSummary {
    let id = try Self.parse(text)
    guard let job = try await summary(id) else { throw Self.unknown(id) }
    guard job.state == .dead else {
      throw OperationError(.conflict, "job \(text) is not dead but \(job.state.rawValue)")
    }
    guard try await !deadLetters.retry(.one(id), by: actor).isEmpty else {
      throw OperationError(
        .conflict, "job \(text) stays dead: another job with its unique key '\(job.uniqueKey ?? "")' is pending")
    }
    return try await show(text).job
  }

  /// Retries a dead letter with another payload, as another job of the same kind, queue, priority, unique key and
  /// limits. The dead letter is kept for a while as `replaced`, and the action log links the two.
  ///
  /// - Returns: the new job.
  /// - Throws: `.usage`, `.notFound`, `.forbidden`; `.conflict` if it is not dead, or another job is pending under its
  ///   unique key; `.data` for a payload that does not decode, naming the field.
  public func editDead(_ text: String, payload: [UInt8], by actor: Operator) async throws -> JobSummary {
    try actor.mustBeAbleToAct()
    let id = try Self.parse(text)
    guard let job = try await summary(id) else { throw Self.unknown(id) }
    let isNotDead = OperationError(.conflict, "job \(text) is not dead but \(job.state.rawValue)")
    guard job.state == .dead else { throw isNotDead }
    let record = try kinds.record(
      JobRequest(kind: job.kind, payload: payload, queue: job.queue, uniqueKey: job.uniqueKey))
    let edited = record.id
    let isAdded = try await client.transaction { [record] transaction in
      guard let dead = try await database.schema.lockedRecords([id], in: transaction.sql).first else {
        throw isNotDead
      }
      var next = record
      (next.priority, next.maxAttempts, next.timeout) = (dead.priority, dead.maxAttempts, dead.timeout)
      guard try await !transaction.add([next]).isEmpty else { return false }
      _ = try await database.schema.deleteDead([id], as: .replaced, in: transaction.sql)
      let log = ActionLog(database)
      try await log.record(
        "dead.edit", id.description, detail: ["to": edited.description], by: actor, in: transaction.sql)
      try await log.record(
        "dead.edit", edited.description, detail: ["from": id.description], by: actor, in: transaction.sql)
      return true
    }
    guard isAdded else {
      throw OperationError(
        .conflict, "job \(text) stays dead: another job with its unique key '\(job.uniqueKey ?? "")' is pending")
    }
    return try await show(edited.description).job
  }
}
