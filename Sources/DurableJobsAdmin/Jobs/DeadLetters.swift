import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import LibPQClient

/// Operations on dead letters, one or many at a time.
public struct DeadLetters: Sendable {
  private let client: JobClient<RedisBroker, PostgresLedger>
  /// The number of dead letters per transaction.
  private static let batch = 1000

  /// A selection of dead letters.
  public enum Choice: Sendable {
    case one(JobID)
    /// All, or all of one kind.
    case all(kind: String?)

    /// The selection's name in the action log.
    fileprivate var subject: String {
      switch self {
      case .one(let id): id.description
      case .all(let kind): kind ?? "*"
      }
    }

    fileprivate func action(_ verb: String) -> String {
      switch self {
      case .one: "dead.\(verb)"
      case .all: "dead.\(verb)-all"
      }
    }

    /// The next batch after an id.
    fileprivate func batch(after id: JobID) -> DeadBatch {
      switch self {
      case .one(let id): .one(id)
      case .all(let kind): .next(after: id, kind: kind, limit: DeadLetters.batch)
      }
    }
  }

  init(client: JobClient<RedisBroker, PostgresLedger>) {
    self.client = client
  }

  private var database: JobsDatabase { client.ledger.database }

  /// Makes dead letters pending again, from their first attempt, under their old ids.
  ///
  /// A dead letter stays if another job is pending under its unique key.
  ///
  /// - Parameter progress: called after each batch with the number of jobs made pending so far.
  /// - Returns: the jobs that are pending again.
  /// - Throws: `.forbidden`.
  public func retry(
    _ choice: Choice, by actor: Operator, progress: @Sendable (Int) -> Void = { _ in }
  ) async throws -> [JobID] {
    try actor.mustBeAbleToAct()
    return try await inBatches(choice, progress) { after in
      try await client.transaction { transaction in
        let records = try await database.schema.lockedRecords(choice.batch(after: after), in: transaction.sql)
        let added = try await transaction.readd(records)
        try await database.schema.forgetDead(added, in: transaction.sql)
        if !added.isEmpty {
          try await ActionLog(database).record(
            choice.action("retry"), choice.subject, detail: ["jobs": "\(added.count)"], by: actor, in: transaction.sql)
        }
        return (added, records.last?.id)
      }
    }
  }

  /// Deletes dead letters; a record of each is kept for a while.
  ///
  /// - Parameter progress: called after each batch with the number deleted so far.
  /// - Returns: the deleted ones.
  /// - Throws: `.forbidden`.
  public func delete(
    _ choice: Choice, by actor: Operator, progress: @Sendable (Int) -> Void = { _ in }
  ) async throws -> [JobID] {
    try actor.mustBeAbleToAct()
    return try await inBatches(choice, progress) { after in
      try await database.pool.transaction { transaction in
        let ids = try await database.schema.deleteDead(choice.batch(after: after), in: transaction)
        if ids.isEmpty { return (ids, nil) }
        try await ActionLog(database).record(
          choice.action("delete"), choice.subject, detail: ["jobs": "\(ids.count)"], by: actor, in: transaction)
        return (ids, ids.last)
      }
    }
  }

  /// Walks through the dead letters in order of their ids. Jobs that die meanwhile may be included.
  ///
  /// - Parameter body: returns the jobs it changed and the last id it read; nil at the end.
  private func inBatches(
    _ choice: Choice, _ progress: @Sendable (Int) -> Void, _ body: (JobID) async throws -> (done: [JobID], last: JobID?)
  ) async throws -> [JobID] {
    var done: [JobID] = []
    var after = JobID(high: 0, low: 0)
    while true {
      let batch = try await body(after)
      guard let last = batch.last else { return done }
      done += batch.done
      progress(done.count)
      guard case .all = choice else { return done }
      after = last
    }
  }
}

extension JobAdmin {
  /// The dead letters, to retry or delete.
  public var deadLetters: DeadLetters { DeadLetters(client: client) }

  /// Retries all dead letters, or those of one kind. A dead letter whose unique key is pending stays.
  ///
  /// - Returns: the number retried.
  public func retryDead(
    kind: String?, by actor: Operator, progress: @Sendable (Int) -> Void = { _ in }
  ) async throws -> Int {
    try await deadLetters.retry(.all(kind: kind), by: actor, progress: progress).count
  }

  /// Deletes all dead letters, or those of one kind.
  ///
  /// - Returns: the number deleted.
  public func deleteDead(
    kind: String?, by actor: Operator, progress: @Sendable (Int) -> Void = { _ in }
  ) async throws -> Int {
    try await deadLetters.delete(.all(kind: kind), by: actor, progress: progress).count
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
}
