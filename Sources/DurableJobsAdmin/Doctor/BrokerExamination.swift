import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import HiredisClient
import LibPQClient
import Logging
import Reactor

/// The doctor's check that the broker knows the oldest jobs pending in the ledger.
struct BrokerExamination {
  let postgres: PostgresConfiguration
  let tables: JobsSchema
  let redis: RedisConfiguration
  let prefix: String
  let queues: [QueueName]
  let loop: EventLoop
  let logger: Logger

  /// The number of jobs per queue that is enough to tell whether the relay works.
  private static let sample = 1000

  func run() async -> [Finding] {
    let pool = PostgresPool(configuration: postgres, size: 1, waitLimit: .seconds(5), loop: loop, logger: logger)
    let client = RedisClient(configuration: redis, loop: loop, logger: logger)
    return await withTaskGroup(of: Void.self) { group in
      group.addTask { await pool.run() }
      group.addTask { await client.run() }
      defer { group.cancelAll() }
      do {
        let broker = try await RedisBroker(client: client, prefix: prefix, logger: logger)
        let audit = LedgerAudit(
          JobsDatabase(pool: pool, schema: tables), broker: broker, queues: queues, limit: Self.sample)
        return [finding(try await audit.run())]
      } catch {
        return [.fail("ledger and broker", "they could not be compared: \(error)", "check the servers' logs")]
      }
    }
  }

  private func finding(_ report: LedgerAudit.Report) -> Finding {
    if report.missing == 0 {
      return .ok("ledger and broker", "the broker knows the oldest pending jobs")
    }
    let queues = report.missingByQueue.sorted { $0.key < $1.key }.map { "\($0.key) (\($0.value))" }
    return .warn(
      "ledger and broker", "old pending jobs are unknown to the broker: \(queues.joined(separator: ", "))",
      "run a worker that serves these queues: its relay pushes them within seconds; if one runs, check its log")
  }
}
