import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient

/// Operations on dead letters, one or many at a time.
public struct DeadLetters: Sendable {
  private let client: JobClient<RedisBroker, PostgresLedger>
  private let clock: any Clock<Duration>
  /// The number of dead letters per transaction.
  private static let batch = 1000

  /// A selection of dead letters.
  public enum Choice: Sendable {
    case one(JobID)
    /// All that pass a filter.
    case all(Filter)

    /// The selection's name in the action log.
    fileprivate var subject: String {
      switch self {
      case .one(let id): id.description
      case .all(let filter): filter.kind ?? "*"
      }
    }

    fileprivate func detail(_ count: Int) -> [String: String] {
      var detail = ["jobs": "\(count)"]
      if case .all(let filter) = self { detail.merge(filter.detail) { $1 } }
      return detail
    }

    fileprivate func action(_ verb: String) -> String {
      switch self {
      case .one: "dead.\(verb)"
      case .all: "dead.\(verb)-all"
      }
    }

    /// The next batch after an id.
    fileprivate func batch(after id: JobID, limit: Int) -> DeadBatch {
      switch self {
      case .one(let id): .one(id)
      case .all(let filter): .next(after: id, filter.rows, limit: limit)
      }
    }
  }

  /// A condition on dead letters; nil for any.
  public struct Filter: Sendable, Hashable {
    public var kind: String?
    public var queue: String?
    /// A part of the last error, letter for letter.
    public var error: String?
    /// When they died at the earliest.
    public var since: Date?

    public init(kind: String? = nil, queue: String? = nil, error: String? = nil, since: Date? = nil) {
      self.kind = kind
      self.queue = queue
      self.error = error
      self.since = since
    }

    fileprivate var rows: DeadFilter { DeadFilter(kind: kind, queue: queue, error: error, since: since) }

    /// The filter in the action log.
    fileprivate var detail: [String: String] {
      var detail: [String: String] = [:]
      detail["queue"] = queue
      detail["error"] = error
      detail["since"] = since?.formatted(.iso8601)
      return detail
    }
  }

  init(client: JobClient<RedisBroker, PostgresLedger>, clock: any Clock<Duration>) {
    self.client = client
    self.clock = clock
  }

  /// The number of dead letters that pass a filter, by kind. Changes nothing.
  public func counts(_ filter: Filter) async throws -> [(kind: String, count: Int)] {
    try await database.deadCounts(filter.rows)
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
    return try await inBatches(choice, rate, progress) { after, limit in
      try await client.transaction { transaction in
        let records = try await database.schema.lockedRecords(
          choice.batch(after: after, limit: limit), in: transaction.sql)
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
    return try await inBatches(choice, rate, progress) { after, limit in
      try await database.pool.transaction { transaction in
        let ids = try await database.schema.deleteDead(choice.batch(after: after, limit: limit), in: transaction)
        if ids.isEmpty { return (ids, nil) }
        try await ActionLog(database).record(
          choice.action("delete"), choice.subject, detail: choice.detail(ids.count), by: actor, in: transaction)
        return (ids, ids.last)
      }
    }
  }

  /// Walks through the dead letters in order of their ids. Jobs that die meanwhile may be included.
  ///
  /// - Parameter body: returns the jobs it changed and the last id it read; nil at the end.
  private func inBatches(
    _ choice: Choice, _ rate: Int?, _ progress: @Sendable (Int) -> Void,
    _ body: (JobID, Int) async throws -> (done: [JobID], last: JobID?)
  ) async throws -> [JobID] {
    let limit = min(Self.batch, max(1, rate ?? Self.batch))
    var done: [JobID] = []
    var after = JobID(high: 0, low: 0)
    while true {
      let batch = try await body(after, limit)
      guard let last = batch.last else { return done }
      done += batch.done
      progress(done.count)
      guard case .all = choice else { return done }
      after = last
      if let rate { try await clock.sleep(for: .seconds(1) * batch.done.count / max(1, rate)) }
    }
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
    try await deadLetters.retry(.all(.init(kind: kind)), by: actor, progress: progress).count
  }

  /// Deletes all dead letters, or those of one kind.
  ///
  /// - Returns: the number deleted.
  public func deleteDead(
    kind: String?, by actor: Operator, progress: @Sendable (Int) -> Void = { _ in }
  ) async throws -> Int {
    try await deadLetters.delete(.all(.init(kind: kind)), by: actor, progress: progress).count
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
      guard let dead = try await database.schema.lockedRecords(.one(id), in: transaction.sql).first else {
        throw isNotDead
      }
      var next = record
      (next.priority, next.maxAttempts, next.timeout) = (dead.priority, dead.maxAttempts, dead.timeout)
      guard try await !transaction.add([next]).isEmpty else { return false }
      _ = try await database.schema.deleteDead(.one(id), as: .replaced, in: transaction.sql)
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
