import Jobs
import JobsPostgres
import JobsRedis
import Postgres

/// What an operator does with jobs that are not tried any more.
public struct DeadLetters: Sendable {
  private let client: JobClient<RedisBroker, PostgresLedger>
  private let pool: PostgresPool
  /// So many are owed again in one transaction.
  private static let batch = 1000

  /// Which dead letters.
  public enum Choice: Sendable {
    case one(JobID)
    /// All, or all of one kind.
    case all(kind: String?)
  }

  init(client: JobClient<RedisBroker, PostgresLedger>, pool: PostgresPool) {
    self.client = client
    self.pool = pool
  }

  /// Owes dead letters again, from their first attempt on, under their old ids.
  ///
  /// One whose unique key is owed by another job stays where it is.
  ///
  /// - Returns: those that are owed again.
  public func retry(_ choice: Choice) async throws -> [JobID] {
    var retried: [JobID] = []
    var refused: [JobID] = []
    while true {
      let skipped = refused
      let (added, kept) = try await client.transaction { transaction in
        let records = try await Self.take(choice, skipping: skipped, in: transaction.sql)
        if records.isEmpty { return ([JobID](), [JobID]()) }
        let added = try await transaction.add(records)
        try await Self.forget(added, in: transaction.sql)
        return (added, Array(Set(records.map(\.id)).subtracting(added)))
      }
      retried += added
      refused += kept
      if added.count + kept.count < Self.batch { return retried }
    }
  }

  private static func take(
    _ choice: Choice, skipping refused: [JobID], in sql: PostgresTransaction
  ) async throws -> [JobRecord] {
    let (id, kind): (JobID?, String?) =
      switch choice {
      case .one(let id): (id, nil)
      case .all(let kind): (nil, kind)
      }
    let rows = try await sql.query(
      """
      SELECT id, queue, kind, version, priority, payload, unique_key FROM dead_jobs
      WHERE (\(id.map { PostgresUUID($0) }) IS NULL OR id = \(id.map { PostgresUUID($0) }))
        AND (\(kind) IS NULL OR kind = \(kind)) AND id <> ALL(\(refused.map { PostgresUUID($0) }))
      ORDER BY id LIMIT \(batch) FOR UPDATE
      """)
    return try rows.map { row in
      let (id, queue, kind, version, priority, payload, uniqueKey) = try row.decode(
        PostgresUUID.self, String.self, String.self, Int.self, Int.self, String.self, String?.self)
      return JobRecord(
        id: JobID(id), kind: JobKind(rawValue: kind), queue: QueueName(rawValue: queue),
        priority: JobPriority(rawValue: UInt8(clamping: priority)) ?? .normal, version: version,
        payload: Array(payload.utf8), isDurable: true, uniqueKey: uniqueKey)
    }
  }

  /// Takes dead letters away and leaves their errors with the jobs that they are again.
  private static func forget(_ ids: [JobID], in sql: PostgresTransaction) async throws {
    try await sql.execute(
      """
      WITH gone AS (
        DELETE FROM dead_jobs WHERE id = ANY(\(ids.map { PostgresUUID($0) })) RETURNING id, queue, failures, created_at
      )
      UPDATE jobs SET failures = gone.failures, created_at = gone.created_at
      FROM gone WHERE jobs.queue = gone.queue AND jobs.id = gone.id
      """)
  }
}

extension JobDesk {
  /// Dead letters, to be tried again.
  public var deadLetters: DeadLetters { DeadLetters(client: client, pool: pool) }

  /// Tries one dead letter again.
  ///
  /// - Throws: `.usage`, `.notFound`; `.conflict` if its unique key is owed by another job.
  public func retryDead(_ text: String) async throws -> JobSummary {
    let detail = try await show(text)
    guard detail.job.state == .dead else {
      throw OperationError(.conflict, "job \(text) is not dead but \(detail.job.state.rawValue)")
    }
    guard try await !deadLetters.retry(.one(try Self.parse(text))).isEmpty else {
      throw OperationError(
        .conflict, "job \(text) stays dead: another job with its unique key '\(detail.job.uniqueKey ?? "")' is owed")
    }
    return try await show(text).job
  }
}
