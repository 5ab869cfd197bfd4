import DurableJobs
import LibPQClient
import Logging

/// Deletes expired rows, a batch per job: records of ended jobs after some days, dead letters and operators' actions by
/// age and number, minutes after two days and hours after eight, silent workers after nine, orders to end jobs that no
/// worker ran, and the clock reports of processes.
public struct LedgerSweep: Job {
  public static let kind: JobKind = "ledger.sweep"
  static let batch = 2000
  /// A smaller batch, since each dead letter has its payload and its errors.
  static let deadBatch = 200

  /// The limits of a table: rows beyond this age are deleted, and of the rest the oldest beyond this number.
  public struct Limit: Codable, Sendable, Hashable {
    public var days: Int
    public var rows: Int

    public init(days: Int, rows: Int) {
      self.days = days
      self.rows = rows
    }

    fileprivate var age: Int32 { Int32(clamping: days) }
  }

  /// How long records of ended jobs are kept.
  public var endedDays: Int
  /// The limits of dead letters; nil for none, as in a job of an older version.
  public var dead: Limit?
  /// The limits of the action log; nil for none.
  public var actions: Limit?

  public init(endedDays: Int, dead: Limit? = nil, actions: Limit? = nil) {
    self.endedDays = endedDays
    self.dead = dead
    self.actions = actions
  }

  /// The handler to register. It enqueues itself again while more rows are expired.
  @Sendable
  public static func run(_ job: LedgerSweep, _ context: JobContext<PostgresLedger>) async throws {
    let schema = context.ledger.schema
    try await context.transaction { transaction in
      let swept = try await transaction.sql.pipeline([
        """
        DELETE FROM \(schema.endedJobs) WHERE id IN (
          SELECT id FROM \(schema.endedJobs)
            WHERE ended_at < now() - make_interval(days => \(Int32(clamping: job.endedDays)))
          ORDER BY ended_at LIMIT \(batch))
        """,
        """
        DELETE FROM \(schema.minutes) WHERE (minute, queue, kind) IN (
          SELECT minute, queue, kind FROM \(schema.minutes) WHERE minute < now() - interval '2 days'
          ORDER BY minute LIMIT \(batch))
        """,
        """
        DELETE FROM \(schema.hours) WHERE (hour, queue, kind) IN (
          SELECT hour, queue, kind FROM \(schema.hours) WHERE hour < now() - interval '8 days' ORDER BY hour
            LIMIT \(batch))
        """,
        // A worker's row with a count in it outlives the rows that the count may have been added to: a batch of minutes
        // reported again that late is swept with the rest, and never counted twice.
        """
        DELETE FROM \(schema.workers)
        WHERE seen_at < now() - interval '1 hour' AND counted = 0 OR seen_at < now() - interval '9 days'
        """,
        "DELETE FROM \(schema.cancellations) WHERE asked_at < now() - interval '1 hour'",
        // Of queues that no worker serves.
        """
        DELETE FROM \(schema.unpushed) AS old WHERE NOT EXISTS (
          SELECT FROM \(schema.jobs) WHERE jobs.queue = old.queue AND jobs.id = old.id)
        """,
        "DELETE FROM \(schema.clocks) WHERE seen_at < now() - interval '1 day'",
      ])
      let dead = try await sweep(job.dead.map { deadLetters($0, schema) }, in: transaction, context, "dead letters")
      let noted = try await sweep(job.actions.map { actions($0, schema) }, in: transaction, context, "actions")
      let isMore = swept.contains { $0.affected >= batch } || dead >= deadBatch || noted >= batch
      if isMore { try await transaction.enqueue(job) }
    }
  }

  /// - Returns: the number of rows that the larger of the statements deleted.
  private static func sweep(
    _ statements: [PostgresQuery]?, in transaction: JobTransaction<PostgresLedger>,
    _ context: JobContext<PostgresLedger>, _ what: String
  ) async throws -> Int {
    guard let statements else { return 0 }
    let affected = try await transaction.sql.pipeline(statements).map(\.affected)
    let sum = affected.reduce(0, +)
    if sum > 0 {
      context.logger.info("deleted \(what) past their limits", metadata: [LogKeys.count: "\(sum)"])
    }
    return affected.max() ?? 0
  }

  /// Skips those that another transaction is retrying or deleting.
  private static func deadLetters(_ limit: Limit, _ schema: JobsSchema) -> [PostgresQuery] {
    [
      """
      DELETE FROM \(schema.deadJobs) WHERE id IN (
        SELECT id FROM \(schema.deadJobs) WHERE died_at < now() - make_interval(days => \(limit.age))
        ORDER BY died_at, id LIMIT \(deadBatch) FOR UPDATE SKIP LOCKED)
      """,
      """
      DELETE FROM \(schema.deadJobs) WHERE id IN (
        SELECT id FROM \(schema.deadJobs)
        WHERE (died_at, id) <= (
          SELECT died_at, id FROM \(schema.deadJobs) ORDER BY died_at DESC, id DESC OFFSET \(limit.rows) LIMIT 1)
        ORDER BY died_at, id LIMIT \(deadBatch) FOR UPDATE SKIP LOCKED)
      """,
    ]
  }

  /// Ids grow with time, so the oldest come first.
  private static func actions(_ limit: Limit, _ schema: JobsSchema) -> [PostgresQuery] {
    [
      """
      DELETE FROM \(schema.actions) WHERE id IN (SELECT id FROM \(schema.actions) ORDER BY id LIMIT \(batch))
        AND at < now() - make_interval(days => \(limit.age))
      """,
      """
      DELETE FROM \(schema.actions) WHERE id IN (
        SELECT id FROM \(schema.actions)
          WHERE id <= (SELECT id FROM \(schema.actions) ORDER BY id DESC OFFSET \(limit.rows) LIMIT 1)
        ORDER BY id LIMIT \(batch))
      """,
    ]
  }
}
