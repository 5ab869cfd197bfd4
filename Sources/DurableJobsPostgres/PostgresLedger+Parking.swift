import DurableJobs
import LibPQClient

/// Jobs that wait for a worker that knows them.
extension PostgresLedger {
  @discardableResult
  public func park(_ jobs: [JobRecord]) async throws -> [JobID] {
    if jobs.isEmpty { return [] }
    // The broker drops parked jobs, so those that only it knew get a row.
    let kept = jobs.filter { !$0.isDurable }
    try await pool.transaction { transaction in
      if !kept.isEmpty { _ = try await add(kept, in: transaction) }
      try await transaction.pipeline(
        Dictionary(grouping: jobs, by: \.queue).map { queue, group in
          """
          WITH \(free: group.map(\.id), queue, in: schema)
          UPDATE \(schema.jobs) SET parked = true FROM free WHERE queue = \(queue.rawValue) AND id = free_id
          """
        })
    }
    var held: [JobID] = []
    for (queue, group) in Dictionary(grouping: jobs, by: \.queue) {
      held += try ids(
        try await pool.query(
          """
          SELECT id FROM \(schema.jobs)
          WHERE queue = \(queue.rawValue) AND id = ANY(\(group.map { PostgresUUID($0.id) })) AND NOT parked
          """))
    }
    return held
  }

  @discardableResult
  public func unpark(queue: QueueName, kinds: [JobKind: Int]) async throws -> Int {
    let known = kinds.sorted { $0.key < $1.key }
    return try await pool.execute(
      """
      UPDATE \(schema.jobs) SET parked = false
      FROM unnest(\(known.map(\.key.rawValue)), \(known.map { Int32(clamping: $0.value) })) AS known (kind, version)
      WHERE jobs.queue = \(queue.rawValue) AND jobs.parked AND jobs.kind = known.kind
        AND jobs.version <= known.version
      """)
  }
}
