#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import LibPQClient

/// Jobs that did not succeed: failed, snoozed, dead, discarded, refused or parked.
extension PostgresLedger {
  @discardableResult
  public func recordFailures(_ failures: [FailedJob], queue: QueueName) async throws -> [JobID] {
    try await change(failures.map(\.id), queue, pool.queryByIndex) { ids in
      let wanted = Set(ids)
      let failures = failures.filter { wanted.contains($0.id) }
      let new: PostgresQuery = """
        unnest(\(failures.map { PostgresUUID($0.id) }), \(failures.map { Int32(clamping: $0.failure.attempt) }),
          \(failures.map(\.runAt.unixMilliseconds)), \(try failures.map { try DeadRows.json($0.failure) }))
          AS new (wanted, attempt, due, failure)
        """
      return """
        WITH free AS MATERIALIZED (SELECT place, attempt, due, failure FROM \(locked: new, queue, in: schema))
        UPDATE \(schema.jobs) SET attempts = attempt, run_at = to_timestamp(due / 1000.0),
          failures = coalesce(failures, '[]'::jsonb) || failure::jsonb
        FROM free WHERE jobs.ctid = place RETURNING id
        """
    }.held
  }

  @discardableResult
  public func postpone(_ dates: [JobID: Date], queue: QueueName) async throws -> [JobID] {
    try await change(dates.keys.sorted(), queue, pool.queryByIndex) { ids in
      let new: PostgresQuery = """
        unnest(\(ids.map { PostgresUUID($0) }), \(ids.map { dates[$0]?.unixMilliseconds ?? 0 })) AS new (wanted, due)
        """
      return """
        WITH free AS MATERIALIZED (SELECT place, due FROM \(locked: new, queue, in: schema))
        UPDATE \(schema.jobs) SET run_at = to_timestamp(due / 1000.0) FROM free WHERE jobs.ctid = place RETURNING id
        """
    }.held
  }

  @discardableResult
  public func deadLetter(_ dead: [DeadJob]) async throws -> [JobID] {
    try await end(dead) { try DeadRows.deadLetter($0, in: schema) }
  }

  @discardableResult
  public func discard(_ discarded: [DeadJob]) async throws -> [JobID] {
    try await end(discarded) { try DeadRows.discard($0, in: schema) }
  }

  /// Moves each job out of `jobs` with a statement of its own.
  ///
  /// - Returns: those that another transaction holds.
  private func end(_ ended: [DeadJob], _ statement: (DeadJob) throws -> PostgresQuery) async throws -> [JobID] {
    var left = ended
    // Twice, as in `change`.
    for _ in 0..<2 where !left.isEmpty {
      // One round trip, except for large payloads: a worker that froze between two statements would hold the rows of
      // the first.
      for batch in left.map(\.record)[...].batches(isWhole: true) {
        try await pool.pipeline([IndexScans.begin] + left[batch.indices].map(statement))
      }
      let held = Set(try await pending(left.map(\.record).filter(\.isDurable)))
      left = left.filter { held.contains($0.record.id) }
    }
    return left.map(\.record.id)
  }

  public func refuse(_ refusals: [JobID: String], queue: QueueName) async throws {
    let refused = refusals.sorted { $0.key < $1.key }
    let new: PostgresQuery = """
      unnest(\(refused.map { PostgresUUID($0.key) }), \(refused.map { ledgerText(Array($0.value.utf8)) }))
        AS new (wanted, reason)
      """
    _ = try await pool.queryByIndex(
      """
      WITH free AS MATERIALIZED (SELECT place, reason FROM \(locked: new, queue, in: schema))
      UPDATE \(schema.jobs) SET refusal = reason FROM free
      WHERE jobs.ctid = place AND refusal IS DISTINCT FROM reason
      """)
  }

  // MARK: Jobs that wait for a worker that knows them

  @discardableResult
  public func park(_ jobs: [JobRecord]) async throws -> [JobID] {
    if jobs.isEmpty { return [] }
    // The broker drops parked jobs, so those that only it knew get a row.
    let kept = jobs.filter { !$0.isDurable }
    try await pool.transaction { transaction in
      if !kept.isEmpty { _ = try await add(kept, in: transaction) }
      try await transaction.pipeline([IndexScans.begin] + parkings(of: jobs))
    }
    let held = Set(try await pending(jobs, isParked: false))
    let left = jobs.filter { held.contains($0.id) }
    if left.isEmpty { return [] }
    // Once more, as in `change`.
    try await pool.pipeline([IndexScans.begin] + parkings(of: left))
    return try await pending(left, isParked: false)
  }

  private func parkings(of jobs: [JobRecord]) -> [PostgresQuery] {
    Dictionary(grouping: jobs, by: \.queue).map { queue, group in
      """
      WITH \(free: group.map(\.id), queue, in: schema)
      UPDATE \(schema.jobs) SET parked = true FROM free WHERE jobs.ctid = place
      """
    }
  }

  @discardableResult
  public func unpark(queue: QueueName, kinds: [JobKind: Int]) async throws -> Int {
    let known = kinds.sorted { $0.key < $1.key }
    let unparked = try await pool.queryByIndex(
      """
      WITH unparked AS (
        UPDATE \(schema.jobs) SET parked = false
        FROM unnest(\(known.map(\.key.rawValue)), \(known.map { Int32(clamping: $0.value) })) AS known (kind, version)
        WHERE jobs.queue = \(queue.rawValue) AND jobs.parked AND jobs.kind = known.kind
          AND jobs.version <= known.version
        RETURNING 1)
      SELECT count(*) FROM unparked
      """)
    return try unparked[0].decode(Int.self)
  }

  /// Those of `jobs` that are pending, and with `isParked` only those that are parked or are not.
  private func pending(_ jobs: [JobRecord], isParked: Bool? = nil) async throws -> [JobID] {
    var found: [JobID] = []
    for (queue, group) in Dictionary(grouping: jobs, by: \.queue) {
      found += try ids(
        try await pool.queryByIndex(
          """
          SELECT id FROM \(jobs: group.map(\.id), queue, in: schema) WHERE parked = coalesce(\(isParked), parked)
          """))
    }
    return found
  }
}
