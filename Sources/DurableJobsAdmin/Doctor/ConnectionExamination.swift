import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// The doctor's check of Postgres connections: whether each job that a worker runs finds one, and whether the server
/// allows as many as its workers may open.
struct ConnectionExamination: Examination {
  let schema: JobsSchema
  let terms: DoctorTerms

  func run(in transaction: PostgresTransaction) async throws -> [Finding] {
    let workers = try await schema.workerConnections(in: transaction)
    let room = try await schema.connectionRoom(in: transaction)
    return [Self.concurrency(workers, terms), Self.room(room, workers, terms)]
  }

  // MARK: Judgement

  static func concurrency(_ workers: [WorkerConnectionRow], _ terms: DoctorTerms = DoctorTerms()) -> Finding {
    let name = "slots"
    let short = workers.filter { !$0.connections.fits }
    guard let first = short.first else {
      if workers.isEmpty { return .ok(name, "no worker is running") }
      let all = workers.reduce(0) { $0 + $1.concurrency }
      return .ok(name, "each of \(all) gets a connection to Postgres")
    }
    let named = short.prefix(3).map {
      "\($0.name) has \($0.concurrency) for a pool of \($0.connections.pool) connections"
    }
    let more = short.count > 3 ? " and \(short.count - 3) more workers are short too" : ""
    return .warn(
      name, named.joined(separator: ", ") + more,
      """
      jobs wait for a connection: leave \(terms.poolSize) out, or set it to \
      \(WorkerConnections.pool(for: first.connections.jobs)); or leave \(terms.concurrency) and the limits in \
      \(terms.queues) out
      """)
  }

  static func room(_ room: ConnectionRoom, _ workers: [WorkerConnectionRow], _ terms: DoctorTerms = DoctorTerms())
    -> Finding
  {
    let name = "connections"
    let granted = room.maximum - room.reserved
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
