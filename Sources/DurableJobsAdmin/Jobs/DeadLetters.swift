import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import LibPQClient

/// What an operator does with jobs that are not tried any more, one or many at a time.
public struct DeadLetters: Sendable {
  private let client: JobClient<RedisBroker, PostgresLedger>
  /// So many in one transaction.
  private static let batch = 1000

  /// Which dead letters.
  public enum Choice: Sendable {
    case one(JobID)
    /// All, or all of one kind.
    case all(kind: String?)

    /// How the action log names them.
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

    /// The next of them behind an id.
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

  /// Owes dead letters again, from their first attempt on, under their old ids.
  ///
  /// One whose unique key is pending by another job stays where it is.
  ///
  /// - Parameter progress: is called after each batch with how many are pending again so far.
  /// - Returns: those that are pending again.
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

  /// Throws dead letters away; a record of each is kept for a while.
  ///
  /// - Parameter progress: is called after each batch with how many are gone so far.
  /// - Returns: those that are gone.
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

  /// Goes through the dead letters in the order of their ids. What died meanwhile may come too.
  ///
  /// - Parameter body: what was done, and the last id that was looked at; nil where there is no more.
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
  /// Dead letters, to be tried again or thrown away.
  public var deadLetters: DeadLetters { DeadLetters(client: client) }

  /// Tries all dead letters again, or those of one kind; one whose unique key is pending stays.
  ///
  /// - Returns: how many.
  public func retryDead(
    kind: String?, by actor: Operator, progress: @Sendable (Int) -> Void = { _ in }
  ) async throws -> Int {
    try await deadLetters.retry(.all(kind: kind), by: actor, progress: progress).count
  }

  /// Throws all dead letters away, or those of one kind.
  ///
  /// - Returns: how many.
  public func deleteDead(
    kind: String?, by actor: Operator, progress: @Sendable (Int) -> Void = { _ in }
  ) async throws -> Int {
    try await deadLetters.delete(.all(kind: kind), by: actor, progress: progress).count
  }

  /// Tries one dead letter again.
  ///
  /// - Throws: `.usage`, `.notFound`, `.forbidden`; `.conflict` if it is not dead, or its unique key is pending by
  ///   another job.
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
