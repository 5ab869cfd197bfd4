import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import LibPQClient

struct SendReceipt: Job {
  static let kind: JobKind = "shop.receipt"
  var order: Int64
}

/// The outsider's own tables and jobs.
enum Shop {
  static let table: PostgresQuery = "CREATE TABLE orders (id bigint PRIMARY KEY, receipts integer NOT NULL DEFAULT 0)"

  static var registry: JobRegistry<PostgresLedger> {
    var registry = JobRegistry<PostgresLedger>()
    registry.register(SendReceipt.self) { job, context in
      try await context.transaction { tx in
        try await tx.sql.execute("UPDATE orders SET receipts = receipts + 1 WHERE id = \(job.order)")
      }
    }
    return registry
  }

  /// Enqueues a receipt in the order's transaction and runs a worker until it is sent.
  ///
  /// - Throws: `NotOnce` if it is not sent exactly once.
  static func sell(_ session: OutsiderSession) async throws -> JobID {
    let sold = Sold()
    try await session.withQueue(endures: false) { database, broker in
      let ledger = PostgresLedger(database)
      let jobs = JobClient(broker: broker, ledger: ledger, logger: session.logger)
      let id = try await jobs.transaction { tx in
        try await tx.sql.execute("INSERT INTO orders (id) VALUES (7)")
        return try await tx.enqueue(SendReceipt(order: 7))
      }
      let worker = Worker(
        broker: broker, ledger: ledger, registry: registry, configuration: WorkerConfiguration(queues: [.default: 4]),
        workers: PostgresWorkerRegistry(database), logger: session.logger)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await worker.run() }
        while try await !ledger.pending([id].compactMap(\.self), queue: .default).isEmpty {
          try await Task.sleep(for: .milliseconds(5))
        }
        group.cancelAll()
      }
      let receipts = try await database.pool.query("SELECT receipts FROM orders WHERE id = 7")[0].decode(Int.self)
      guard receipts == 1, let id else { throw NotOnce(receipts: receipts) }
      await sold.keep(id)
    }
    guard let id = await sold.id else { throw NotOnce(receipts: 0) }
    return id
  }

  struct NotOnce: Error { let receipts: Int }

  private actor Sold {
    private(set) var id: JobID?
    func keep(_ id: JobID) { self.id = id }
  }
}
