import DurableJobs
import DurableJobsTesting
import Foundation
import LibPQClient

@testable import DurableJobsPostgres

/// The ledger of the last version without a schema of the queue's own: the statements in which it names columns are as
/// they were, and the others are the same today.
struct FormerLedger: Ledger {
  typealias Transaction = PostgresTransaction

  let base: PostgresLedger

  init(pool: PostgresPool) { base = PostgresLedger(pool: pool, schema: JobsSchema("public")) }

  private static let columns = """
    id, queue, kind, version, priority, payload, attempts, unique_key, failures, created_at, trace
    """

  func withTransaction<Result: Sendable>(
    _ body: @Sendable (PostgresTransaction) async throws -> Result
  ) async throws -> Result {
    try await base.withTransaction(body)
  }

  func add(_ jobs: [JobRecord], in transaction: PostgresTransaction) async throws -> [JobID] {
    var added: [JobID] = []
    for job in jobs {
      added += try base.ids(
        try await transaction.query(
          """
          INSERT INTO jobs (queue, id, kind, version, priority, payload, attempts, run_at, unique_key)
          VALUES (\(job.queue.rawValue), \(PostgresUUID(job.id)), \(job.kind.rawValue), \(Int32(job.version)),
            \(Int16(job.priority.rawValue)), \(job.text), \(Int32(job.attempts)), \(job.runAt), \(job.uniqueKey))
          ON CONFLICT DO NOTHING RETURNING id
          """))
    }
    return added
  }

  func complete(
    _ ids: [JobID], queue: QueueName, in transaction: PostgresTransaction
  ) async throws -> Completion {
    Completion(ended: try base.ids(try await transaction.query(end(ids, queue, "done", "failures IS NOT NULL"))))
  }

  @discardableResult
  func complete(_ ids: [JobID], queue: QueueName) async throws -> [JobID] {
    _ = try await base.pool.query(end(ids, queue, "done", "failures IS NOT NULL"))
    return []
  }

  @discardableResult
  func cancel(_ ids: [JobID], queue: QueueName) async throws -> [JobID] {
    _ = try await base.pool.query(end(ids, queue, "cancelled", "true"))
    return []
  }

  private func end(_ ids: [JobID], _ queue: QueueName, _ state: String, _ isKept: String) -> PostgresQuery {
    """
    WITH gone AS (
      DELETE FROM jobs WHERE queue = \(queue.rawValue) AND id = ANY(\(ids.map { PostgresUUID($0) }))
      RETURNING \(unescaped: Self.columns)
    ), kept AS (
      INSERT INTO ended_jobs (\(unescaped: Self.columns), state)
      SELECT \(unescaped: Self.columns), \(state) FROM gone WHERE \(unescaped: isKept)
    )
    SELECT id FROM gone
    """
  }

  @discardableResult
  func deadLetter(_ dead: [DeadJob]) async throws -> [JobID] {
    for job in dead {
      let failure = String(decoding: try JSONEncoder().encode(job.failure), as: UTF8.self)
      try await base.pool.execute(
        """
        WITH gone AS (DELETE FROM jobs WHERE id = \(PostgresUUID(job.record.id)) RETURNING jobs.*)
        INSERT INTO dead_jobs (\(unescaped: Self.columns))
        SELECT id, queue, kind, version, priority, payload, \(Int32(job.attempts)), unique_key,
          coalesce(failures, '[]'::jsonb) || \(failure)::jsonb, created_at, trace FROM gone
        """)
    }
    return []
  }

  func records(_ ids: [JobID], queue: QueueName) async throws -> [JobRecord] {
    try await base.pool.query(
      """
      SELECT id, kind, payload FROM jobs WHERE queue = \(queue.rawValue) AND id = ANY(\(ids.map { PostgresUUID($0) }))
      ORDER BY id
      """
    ).decode(PostgresUUID.self, String.self, String.self).map { id, kind, payload in
      JobRecord(
        id: JobID(id), kind: JobKind(rawValue: kind), queue: queue, payload: Array(payload.utf8), isDurable: true)
    }
  }

  @discardableResult
  func recordFailures(_ failures: [FailedJob], queue: QueueName) async throws -> [JobID] {
    for failed in failures {
      let failure = String(decoding: try JSONEncoder().encode(failed.failure), as: UTF8.self)
      try await base.pool.execute(
        """
        UPDATE jobs SET attempts = \(Int32(failed.failure.attempt)), run_at = \(failed.runAt),
          failures = coalesce(failures, '[]'::jsonb) || \(failure)::jsonb
        WHERE queue = \(queue.rawValue) AND id = \(PostgresUUID(failed.id))
        """)
    }
    return []
  }

  @discardableResult
  func postpone(_ dates: [JobID: Date], queue: QueueName) async throws -> [JobID] {
    for (id, date) in dates {
      try await base.pool.execute(
        "UPDATE jobs SET run_at = \(date) WHERE queue = \(queue.rawValue) AND id = \(PostgresUUID(id))")
    }
    return []
  }

  @discardableResult
  func park(_ jobs: [JobRecord]) async throws -> [JobID] {
    let ids = jobs.map { PostgresUUID($0.id) }
    try await base.pool.execute("UPDATE jobs SET parked = true WHERE id = ANY(\(ids))")
    return []
  }

  func refuse(_ refusals: [JobID: String], queue: QueueName) async throws {
    for (id, reason) in refusals {
      try await base.pool.execute("UPDATE jobs SET refusal = \(reason) WHERE id = \(PostgresUUID(id))")
    }
  }

  // MARK: As today

  @discardableResult
  func discard(_ discarded: [DeadJob]) async throws -> [JobID] { try await deadLetter(discarded) }
  func unpark(queue: QueueName, kinds: [JobKind: Int]) async throws -> Int {
    try await base.unpark(queue: queue, kinds: kinds)
  }
  func pending(_ ids: [JobID], queue: QueueName) async throws -> [JobID] { try await base.pending(ids, queue: queue) }
  func pendingIDs(queue: QueueName, after: JobID?, before: JobID, limit: Int) async throws -> [JobID] {
    try await base.pendingIDs(queue: queue, after: after, before: before, limit: limit)
  }
  func newestPendingIDs(
    queue: QueueName, after: JobID, before: JobID, age: Duration, limit: Int
  ) async throws -> [JobID] {
    try await base.newestPendingIDs(queue: queue, after: after, before: before, age: age, limit: limit)
  }
  func payloads(_ ids: [JobID], queue: QueueName) async throws -> [JobID: [UInt8]] {
    try await base.payloads(ids, queue: queue)
  }
  func lead(_ role: String, _ body: @escaping @Sendable () async throws -> Void) async throws {
    try await base.lead(role, body)
  }
  func ping(within limit: Duration) async throws { try await base.ping(within: limit) }
}
