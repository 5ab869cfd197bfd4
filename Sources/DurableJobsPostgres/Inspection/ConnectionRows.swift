import DurableJobs
import LibPQClient

/// A worker's connections to Postgres, as it reports them.
package struct WorkerConnectionRow: Sendable, Hashable {
  package let name: String
  /// How many jobs it runs at once.
  package let concurrency: Int
  package let connections: WorkerConnections

  package init(name: String, concurrency: Int, connections: WorkerConnections) {
    self.name = name
    self.concurrency = concurrency
    self.connections = connections
  }
}

/// The server's connection limits and usage.
package struct ConnectionRoom: Sendable, Hashable {
  /// `max_connections`.
  package let maximum: Int
  /// Those reserved for certain roles.
  package let reserved: Int
  /// Sessions that are not the workers'.
  package let others: Int

  package init(maximum: Int, reserved: Int, others: Int) {
    self.maximum = maximum
    self.reserved = reserved
    self.others = others
  }
}

extension JobsSchema {
  /// The connections of each live worker.
  package func workerConnections(in transaction: PostgresTransaction) async throws -> [WorkerConnectionRow] {
    try await transaction.query(
      """
      SELECT name, (SELECT coalesce(sum((queue->>'slots')::bigint), 0)::bigint
        FROM jsonb_array_elements(queues) AS queue),
        (connections->>'pool')::bigint, (connections->>'most')::bigint, (connections->>'jobs')::bigint
      FROM \(workers) WHERE connections IS NOT NULL AND \(unescaped: WorkerPresence.isHeard) ORDER BY name
      """
    ).decode(String.self, Int.self, Int.self, Int.self, Int?.self).map { name, concurrency, pool, total, jobs in
      // A worker of an older version counts one connection per concurrent job.
      let connections = WorkerConnections(pool: pool, kept: total - pool, jobs: jobs ?? concurrency)
      return WorkerConnectionRow(name: name, concurrency: concurrency, connections: connections)
    }
  }

  package func connectionRoom(in transaction: PostgresTransaction) async throws -> ConnectionRoom {
    // Other roles' sessions do not show their type. A session in a database is a client's, except for some of the
    // server's own.
    let row = try await transaction.query(
      """
      SELECT current_setting('max_connections')::bigint,
        current_setting('superuser_reserved_connections')::bigint
          + coalesce(nullif(current_setting('reserved_connections', true), ''), '0')::bigint,
        (SELECT count(*) FROM pg_stat_activity AS session
          WHERE datid IS NOT NULL AND coalesce(backend_type, 'client backend') = 'client backend'
            AND NOT EXISTS (
              SELECT FROM \(workers)
              WHERE connections IS NOT NULL AND \(unescaped: WorkerPresence.isHeard)
                AND session.application_name = left(name, 63)))
      """)[0]
    let (maximum, reserved, others) = try row.decode(Int.self, Int.self, Int.self)
    return ConnectionRoom(maximum: maximum, reserved: reserved, others: others)
  }
}
