import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient

/// What an operator does with jobs that are not tried any more, one or many at a time.
public struct DeadLetters: Sendable {
  private let client: JobClient<RedisBroker, PostgresLedger>
  private let pool: PostgresPool
  /// So many in one transaction.
  fileprivate static let batch = 1000

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
  }

  init(client: JobClient<RedisBroker, PostgresLedger>, pool: PostgresPool) {
    self.client = client
    self.pool = pool
  }

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
        let records = try await take(choice, after: after, in: transaction.sql)
        let added = try await transaction.readd(records)
        try await forget(added, in: transaction.sql)
        if !added.isEmpty {
          try await ActionLog.record(
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
      try await pool.transaction { transaction in
        let ids = try await transaction.query("SELECT id FROM dead_jobs WHERE \(choice, after) FOR UPDATE")
          .decode(PostgresUUID.self).map { JobID($0) }.sorted()
        if ids.isEmpty { return (ids, nil) }
        try await transaction.execute(
          """
          WITH gone AS (DELETE FROM dead_jobs WHERE id = ANY(\(ids.map { PostgresUUID($0) })) RETURNING *)
          \(unescaped: FinishedRows.insert(in: .standard, "deleted", from: "gone"))
          """)
        try await ActionLog.record(
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

  /// A batch of records, bounded by its bytes too.
  private func take(
    _ choice: Choice, after: JobID, in sql: PostgresTransaction
  ) async throws -> [JobRecord] {
    let query: PostgresQuery = """
      SELECT id, queue, kind, version, priority, payload, unique_key, trace FROM dead_jobs WHERE id IN (
        SELECT id FROM (
          SELECT id, octet_length(payload) AS size,
            sum(octet_length(payload)) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS total
          FROM dead_jobs WHERE \(choice, after)
        ) AS next WHERE total <= \(PayloadLimit.batch) OR total = size
      ) ORDER BY id FOR UPDATE
      """
    return try await sql.query(query).map { row in
      let (id, queue, kind, version, priority, payload, uniqueKey, trace) = try row.decode(
        PostgresUUID.self, String.self, String.self, Int.self, Int.self, String.self, String?.self, PostgresUUID?.self)
      return JobRecord(
        id: JobID(id), kind: JobKind(rawValue: kind), queue: QueueName(rawValue: queue),
        priority: JobPriority(rawValue: UInt8(clamping: priority)) ?? .normal, version: version,
        payload: Array(payload.utf8), isDurable: true, uniqueKey: uniqueKey, trace: trace.flatMap { TraceID($0) })
    }
  }

  /// Takes dead letters away and leaves their errors with the jobs that they are again.
  private func forget(_ ids: [JobID], in sql: PostgresTransaction) async throws {
    if ids.isEmpty { return }
    let ids = ids.map { PostgresUUID($0) }
    // An order to end one of them was meant for an attempt before its death.
    try await sql.execute("DELETE FROM job_cancellations WHERE id = ANY(\(ids))")
    try await sql.execute(
      """
      WITH gone AS (
        DELETE FROM dead_jobs WHERE id = ANY(\(ids)) RETURNING id, queue, failures, created_at
      )
      UPDATE jobs SET failures = gone.failures, created_at = gone.created_at
      FROM gone WHERE jobs.queue = gone.queue AND jobs.id = gone.id
      """)
  }
}

extension PostgresQuery.StringInterpolation {
  /// Which dead letters a batch is of.
  fileprivate mutating func appendInterpolation(_ choice: DeadLetters.Choice, _ after: JobID) {
    switch choice {
    case .one(let id):
      appendLiteral("id = ")
      appendInterpolation(PostgresUUID(id))
    case .all(let kind):
      appendLiteral("id IN (SELECT id FROM dead_jobs WHERE id > ")
      appendInterpolation(PostgresUUID(after))
      appendLiteral(" AND (")
      appendInterpolation(kind)
      appendLiteral(" IS NULL OR kind = ")
      appendInterpolation(kind)
      appendLiteral(") ORDER BY id LIMIT ")
      appendInterpolation(DeadLetters.batch)
      appendLiteral(")")
    }
  }
}

extension JobAdmin {
  /// Dead letters, to be tried again or thrown away.
  public var deadLetters: DeadLetters { DeadLetters(client: client, pool: pool) }

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
