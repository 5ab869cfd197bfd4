import Foundation
import Jobs
import JobsPostgres
import JobsRedis
import Logging
import Postgres

/// What an operator does with jobs: look, ask for one, try one again.
public struct JobDesk: Sendable {
  let client: JobClient<RedisBroker, PostgresLedger>
  let pool: PostgresPool
  public let kinds: JobKinds

  public init(pool: PostgresPool, broker: RedisBroker, kinds: JobKinds, logger: Logger) {
    self.pool = pool
    self.kinds = kinds
    client = JobClient(broker: broker, ledger: PostgresLedger(pool: pool), logger: logger)
  }

  /// Which jobs to list; nil is all of them.
  public struct Filter: Sendable {
    public var state: JobState?
    public var kind: String?
    public var queue: String?
    public var limit: Int

    public init(state: JobState? = nil, kind: String? = nil, queue: String? = nil, limit: Int = 50) {
      self.state = state
      self.kind = kind
      self.queue = queue
      self.limit = limit
    }
  }

  // MARK: Look

  /// The newest jobs that `filter` lets through: owed ones, or dead letters if it asks for these.
  public static func list(_ filter: Filter, on pool: PostgresPool) async throws -> [JobSummary] {
    let source: PostgresQuery =
      filter.state == .dead
      ? """
      SELECT \(unescaped: JobRow.dead) FROM dead_jobs
      WHERE (\(filter.kind) IS NULL OR kind = \(filter.kind)) AND (\(filter.queue) IS NULL OR queue = \(filter.queue))
      ORDER BY died_at DESC, id LIMIT \(filter.limit)
      """
      : """
      SELECT * FROM (SELECT \(unescaped: JobRow.owed) FROM jobs) AS owed
      WHERE (\(filter.kind) IS NULL OR kind = \(filter.kind)) AND (\(filter.queue) IS NULL OR queue = \(filter.queue))
        AND (\(filter.state?.rawValue) IS NULL OR state = \(filter.state?.rawValue))
      ORDER BY id DESC LIMIT \(filter.limit)
      """
    return try await pool.query(source).map { try JobRow.summary($0) }
  }

  /// - Throws: `.usage` if `id` cannot be a job's, `.notFound` if it is neither owed nor dead.
  public func show(_ id: String) async throws -> JobDetail {
    let id = try Self.parse(id)
    if let row = try await pool.query(owed(id)).first {
      let queue = QueueName(rawValue: try row.decode(String.self, named: "queue"))
      let unknown = try await client.broker.unknown([id], in: queue)
      return try JobRow.detail(row, isInBroker: unknown.isEmpty)
    }
    let dead: PostgresQuery =
      "SELECT \(unescaped: JobRow.dead), version, payload, failures FROM dead_jobs WHERE id = \(PostgresUUID(id))"
    if let row = try await pool.query(dead).first { return try JobRow.detail(row, isInBroker: nil) }
    throw OperationError(.notFound, "no job \(id) is owed or dead: it is done, or it never was")
  }

  // MARK: Act

  /// Owes a job and pushes it.
  ///
  /// - Returns: its id.
  /// - Throws: `.usage`, `.data`; `.conflict` if its unique key is owed already.
  public func enqueue(_ request: JobRequest) async throws -> JobRecord {
    let record = try kinds.record(request)
    let added = try await client.transaction { try await $0.add([record]) }
    guard added == [record.id] else {
      throw OperationError(
        .conflict, "not enqueued: a job with the unique key '\(request.uniqueKey ?? "")' is owed in \(record.queue)")
    }
    return record
  }

  /// Lets a job run at once: a dead letter from its first attempt on, one that waits for its time now.
  ///
  /// - Returns: the job as it is then.
  /// - Throws: `.usage`, `.notFound`; `.conflict` where there is nothing to do.
  public func retry(_ text: String) async throws -> JobSummary {
    let id = try Self.parse(text)
    guard let row = try await pool.query(owed(id)).first else {
      guard try await DeadLetters(client: client, pool: pool).retry(.one(id)).isEmpty else {
        return try await show(text).job
      }
      throw OperationError(.notFound, "no job \(id) is owed or dead: it is done, or it never was")
    }
    let job = try JobRow.summary(row)
    switch job.state {
    case .parked:
      throw OperationError(
        .conflict,
        "job \(id) is parked, since no worker knows \(job.kind) in its version: it runs when a worker that does is started"
      )
    case .delayed, .retrying:
      try await pool.execute(
        "UPDATE jobs SET run_at = NULL WHERE queue = \(job.queue) AND id = \(PostgresUUID(id)) AND NOT parked")
    case .waiting, .dead: break
    }
    let queue = QueueName(rawValue: job.queue)
    let hurried = try await client.broker.hurry([id], in: queue)
    if hurried.isEmpty {
      if try await client.broker.unknown([id], in: queue).isEmpty {
        throw OperationError(.conflict, "job \(id) is ready or running already")
      }
      try await client.broker.push(try await client.ledger.records([id], queue: queue))
    }
    return try await show(text).job
  }

  /// One owed job by its id alone: steps from queue to queue, since the key leads with the queue.
  private func owed(_ id: JobID) -> PostgresQuery {
    """
    WITH RECURSIVE queues AS (
      (SELECT queue AS name FROM jobs ORDER BY queue LIMIT 1)
      UNION ALL
      SELECT (SELECT queue FROM jobs WHERE queue > name ORDER BY queue LIMIT 1) FROM queues WHERE name IS NOT NULL
    )
    SELECT \(unescaped: JobRow.owed), version, payload, failures
    FROM jobs JOIN queues ON queue = name WHERE id = \(PostgresUUID(id))
    """
  }

  static func parse(_ text: String) throws(OperationError) -> JobID {
    guard let id = JobID(text) else {
      throw OperationError(
        .usage, "'\(text)' is not a job's id, which looks like \(JobID.least(at: 1_700_000_000_000))")
    }
    return id
  }
}
