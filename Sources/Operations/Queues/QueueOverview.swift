import Jobs
import JobsPostgres
import JobsRedis
import Postgres

/// A queue's numbers: what the broker has in hand, and what the ledger owes.
public struct QueueSummary: Codable, Sendable, Hashable {
  public let queue: String
  /// Waiting in the broker to be claimed.
  public let ready: Int
  /// Waiting in the broker for their time.
  public let delayed: Int
  /// In the hands of workers.
  public let claimed: Int
  /// Workers that serve the queue now.
  public let workers: Int
  /// Durable jobs that are not done.
  public let owed: Int
  /// Those among the owed that no worker knows how to run.
  public let parked: Int
}

/// The state of all queues.
public enum QueueOverview {
  /// - Parameter known: the queues to list even if nothing is owed in them.
  public static func list(
    known: [QueueName], broker: RedisBroker, pool: PostgresPool
  ) async throws -> [QueueSummary] {
    let rows = try await pool.query(
      "SELECT queue, count(*), count(*) FILTER (WHERE parked) FROM jobs GROUP BY queue", timeout: .seconds(60)
    ).decode(String.self, Int.self, Int.self)
    let owed = Dictionary(uniqueKeysWithValues: rows.map { ($0.0, (owed: $0.1, parked: $0.2)) })
    var summaries: [QueueSummary] = []
    for queue in Set(known).union(owed.keys.map { QueueName(rawValue: $0) }).sorted() {
      let numbers = try await broker.statistics(of: queue)
      summaries.append(
        QueueSummary(
          queue: queue.rawValue, ready: numbers.ready, delayed: numbers.delayed, claimed: numbers.claimed,
          workers: numbers.workers, owed: owed[queue.rawValue]?.owed ?? 0, parked: owed[queue.rawValue]?.parked ?? 0))
    }
    return summaries
  }
}
