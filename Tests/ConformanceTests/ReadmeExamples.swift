import DurableJobs
import DurableJobsPostgres
import DurableJobsService
import LibPQClient
import PrivateServers
import TestSupport
import Testing

// The code of README.md, verbatim: ArticleTests compares.

@Suite(.timeLimit(.minutes(5))) struct ReadmeExamples {
  private struct SendReceipt: Job {
    static let kind: JobKind = "orders.receipt"
    var order: Int
  }

  private static func work(_ redisURL: String, _ postgresURL: String) async throws {
    struct SendReceipt: Job {
      static let kind: JobKind = "orders.receipt"
      var order: Int
    }

    var registry = JobService.Registry()
    registry.register(SendReceipt.self) { job, context in
      try await context.transaction { tx in  // what it writes takes effect exactly once
        try await tx.sql.execute("UPDATE orders SET receipts = receipts + 1 WHERE id = \(job.order)")
      }
    }
    try await JobService(redis: redisURL, postgres: postgresURL, registry: registry).run()
  }

  @Test func theTenLinesSendAReceiptOnce() async throws {
    let (redis, database) = (try await SharedServers.redis().url, try await SharedServers.freshDatabase())
    let service = try JobService(redis: redis, postgres: database, registry: JobService.Registry(), logger: .quiet)
    try await service.withParts { parts in
      let pool = parts.database.pool
      try await pool.execute("CREATE TABLE orders (id bigint PRIMARY KEY, receipts integer NOT NULL DEFAULT 0)")
      let (jobs, order) = (parts.client, 7)
      try await jobs.transaction { tx in
        try await tx.sql.execute("INSERT INTO orders (id) VALUES (\(order))")
        try await tx.enqueue(SendReceipt(order: order))
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await Self.work(redis, database) }
        try await eventually("the receipt is sent") {
          try await pool.query("SELECT receipts FROM orders")[0].decode(Int.self) == 1
        }
        group.cancelAll()
      }
    }
    try await SharedServers.drop(database)
  }
}
