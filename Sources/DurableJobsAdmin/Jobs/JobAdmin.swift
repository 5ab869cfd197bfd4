import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient
import Logging

/// What an operator does with jobs: look, ask for one, try one again, stop one. What changes something takes the name
/// of who does it, and stands in the action log.
public struct JobAdmin: Sendable {
  let client: JobClient<RedisBroker, PostgresLedger>
  let pool: PostgresPool
  public let kinds: JobKinds
  let clock: any Clock<Duration>

  /// - Parameters:
  ///   - clock: measures how long somebody waits.
  ///   - patience: how long the push of a job may take; see `JobClient`.
  ///   - breaker: see `JobClient`.
  public init(
    pool: PostgresPool, broker: RedisBroker, kinds: JobKinds, clock: any Clock<Duration> = ContinuousClock(),
    patience: Duration? = nil, breaker: CircuitBreaker = CircuitBreaker(), logger: Logger
  ) {
    self.pool = pool
    self.kinds = kinds
    self.clock = clock
    client = JobClient(
      broker: broker, ledger: PostgresLedger(pool: pool), patience: patience, breaker: breaker, logger: logger)
  }

  // MARK: Look

  /// A page of the jobs that `filter` lets through: pending ones, unless it asks for a state in which nothing is
  /// pending.
  ///
  /// - Throws: `.usage` for a limit or a cursor that cannot be.
  public func page(_ filter: JobFilter) async throws -> JobPage { try await Self.page(filter, on: pool) }

  /// The same, where there is a pool and no desk.
  public static func page(_ filter: JobFilter, on pool: PostgresPool) async throws -> JobPage {
    try OperationError.check(limit: filter.limit)
    if filter.state?.isPending ?? true { return try await PendingListing(filter: filter, pool: pool).page() }
    return try await FinishedListing(filter: filter, pool: pool).page()
  }

  /// - Throws: `.usage` if `id` cannot be a job's, `.notFound` if it is neither pending nor dead and no record of its
  ///   end is kept.
  public func show(_ id: String) async throws -> JobDetail {
    let id = try Self.parse(id)
    let others = try await JobEvent.others(of: id, in: pool)
    if let row = try await pool.query(pending(id)).first {
      let queue = QueueName(rawValue: try row.decode(String.self, named: "queue"))
      let unknown = try await client.broker.missing([id], in: queue)
      return try JobRow.detail(
        row, isInBroker: unknown.isEmpty, others: others, running: try await RunningJobs.read(pool))
    }
    for query in [dead(id), ended(id)] {
      if let row = try await pool.query(query).first { return try JobRow.detail(row, isInBroker: nil, others: others) }
    }
    throw Self.unknown(id)
  }

  /// The job as the ledger knows it now, to which a running one waits; nil if there is none.
  func summary(_ id: JobID) async throws -> JobSummary? {
    for query in [pending(id), dead(id), ended(id)] {
      if let row = try await pool.query(query).first { return try JobRow.summary(row) }
    }
    return nil
  }

  static func unknown(_ id: JobID) -> OperationError {
    OperationError(.notFound, "no job \(id) is pending or dead: it is done, or it never was")
  }

  /// One pending job by its id alone; the key leads with the queue.
  func pending(_ id: JobID) -> PostgresQuery {
    """
    \(unescaped: LedgerQueues.table)
    SELECT \(unescaped: JobRow.pending), version, payload, failures, trace
    FROM jobs JOIN queues ON queue = name WHERE id = \(PostgresUUID(id))
    """
  }

  private func dead(_ id: JobID) -> PostgresQuery {
    "SELECT \(unescaped: JobRow.dead), version, payload, failures, trace FROM dead_jobs WHERE id = \(PostgresUUID(id))"
  }

  private func ended(_ id: JobID) -> PostgresQuery {
    "SELECT \(unescaped: JobRow.ended), version, payload, failures, trace FROM ended_jobs WHERE id = \(PostgresUUID(id))"
  }

  /// - Parameter what: what the text should be, for the message.
  static func parse(_ text: String, _ what: String = "a job's id") throws(OperationError) -> JobID {
    guard let id = JobID(text) else {
      throw OperationError(
        .usage, "'\(text)' is not \(what), which looks like \(JobID.min(at: 1_700_000_000_000))")
    }
    return id
  }
}
