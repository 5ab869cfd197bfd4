import DurableJobs
import LibPQClient

/// The doctor's look at connections to Postgres: whether each worker's slots find one, and whether the server has as
/// many as its workers may open.
struct ConnectionExamination {
  /// A worker, as it says of itself.
  struct Worker: Sendable, Hashable {
    let name: String
    let slots: Int
    let connections: WorkerConnections
  }

  /// What the server has to give.
  struct Room: Sendable, Hashable {
    /// `max_connections`.
    let most: Int
    /// Of these, those that only some roles get.
    let reserved: Int
    /// Sessions that are not the workers'.
    let others: Int
  }

  let connection: PostgresConnection
  let terms: DoctorTerms

  func run() async throws -> [Finding] {
    let workers = try await workers()
    return [Self.slots(workers, terms), Self.room(try await room(), workers, terms)]
  }

  // MARK: Facts

  private func workers() async throws -> [Worker] {
    try await connection.query(
      """
      SELECT name, (SELECT coalesce(sum((queue->>'slots')::bigint), 0)::bigint FROM jsonb_array_elements(queues) AS queue),
        (connections->>'pool')::bigint, (connections->>'most')::bigint, (connections->>'jobs')::bigint
      FROM workers WHERE connections IS NOT NULL AND \(unescaped: WorkerPresence.isHeard) ORDER BY name
      """
    ).decode(String.self, Int.self, Int.self, Int.self, Int?.self).map { name, slots, pool, most, jobs in
      // A worker of an older version counts one for each slot.
      let connections = WorkerConnections(pool: pool, kept: most - pool, jobs: jobs ?? slots)
      return Worker(name: name, slots: slots, connections: connections)
    }
  }

  private func room() async throws -> Room {
    // Other roles' sessions do not say what they are; a session in a database is a client's, but for some of the
    // server's own.
    let row = try await connection.query(
      """
      SELECT current_setting('max_connections')::bigint,
        current_setting('superuser_reserved_connections')::bigint
          + coalesce(nullif(current_setting('reserved_connections', true), ''), '0')::bigint,
        (SELECT count(*) FROM pg_stat_activity AS session
          WHERE datid IS NOT NULL AND coalesce(backend_type, 'client backend') = 'client backend'
            AND NOT EXISTS (
              SELECT FROM workers
              WHERE connections IS NOT NULL AND \(unescaped: WorkerPresence.isHeard)
                AND session.application_name = left(name, 63)))
      """)[0]
    let (most, reserved, others) = try row.decode(Int.self, Int.self, Int.self)
    return Room(most: most, reserved: reserved, others: others)
  }

  // MARK: Judgement

  static func slots(_ workers: [Worker], _ terms: DoctorTerms = DoctorTerms()) -> Finding {
    let name = "slots"
    let short = workers.filter { !$0.connections.fits }
    guard let first = short.first else {
      if workers.isEmpty { return .ok(name, "no worker runs") }
      let all = workers.reduce(0) { $0 + $1.slots }
      return .ok(name, "each of \(all) finds a connection to Postgres")
    }
    let named = short.prefix(3).map { "\($0.name) has \($0.slots) for a pool of \($0.connections.pool) connections" }
    let more = short.count > 3 ? " and \(short.count - 3) more workers are short too" : ""
    return .warn(
      name, named.joined(separator: ", ") + more,
      """
      jobs wait for a connection: leave \(terms.poolSize) out, or set it to \
      \(WorkerConnections.pool(for: first.connections.jobs)); or leave \(terms.concurrency) and the limits in \(terms.queues) out
      """)
  }

  static func room(_ room: Room, _ workers: [Worker], _ terms: DoctorTerms = DoctorTerms()) -> Finding {
    let name = "connections"
    let granted = room.most - room.reserved
    let wanted = workers.reduce(0) { $0 + $1.connections.total }
    let detail =
      "\(workers.count) \(workers.count == 1 ? "worker opens" : "workers open") up to \(wanted), others have "
      + "\(room.others), of \(granted)"
    if wanted + room.others <= granted { return .ok(name, detail) }
    return .warn(
      name, detail,
      """
      set max_connections to \(wanted + room.others + room.reserved) or more, or run fewer workers, or lower their \
      \(terms.poolSize): beyond it the server refuses connections and jobs are handed back
      """)
  }
}
