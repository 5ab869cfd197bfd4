import Foundation
import Jobs
import JobsPostgres
import JobsRedis
import Postgres

/// Compares what the ledger owes with what the broker knows.
///
/// A job that the ledger owes and the broker does not know is not lost: the relay of a worker that serves its queue pushes it
/// within seconds. Where that does not happen, no worker runs, or Redis refuses what is pushed.
public struct LedgerAudit: Sendable {
  /// What was found.
  public struct Report: Sendable, Hashable {
    /// Jobs that are owed, not parked, and old enough for their push to have arrived.
    public var owed = 0
    /// Those among them that the broker does not know.
    public var unknown = 0
    /// By queue, where there are any.
    public var unknownByQueue: [QueueName: Int] = [:]
  }

  private static let page = 1000

  private let pool: PostgresPool
  private let broker: RedisBroker
  private let queues: [QueueName]
  private let limit: Int
  private let age: Duration
  private let clock: any Clock<Duration>
  private let now: @Sendable () -> Date

  /// - Parameters:
  ///   - queues: those to look at besides the ones that the ledger owes something in.
  ///   - limit: how many jobs of a queue to look at, the oldest.
  ///   - age: younger jobs are left out; the relay looks at jobs of 5 seconds every 5 seconds.
  ///   - clock: measures the pause before what looks unknown is looked at again.
  public init(
    pool: PostgresPool, broker: RedisBroker, queues: [QueueName], limit: Int = .max, age: Duration = .seconds(15),
    clock: any Clock<Duration> = ContinuousClock(), now: @escaping @Sendable () -> Date = { Date() }
  ) {
    self.pool = pool
    self.broker = broker
    self.queues = queues
    self.limit = limit
    self.age = age
    self.clock = clock
    self.now = now
  }

  /// Compares each queue's ledger with the broker, and looks a second time at what differed, since jobs move meanwhile.
  public func run() async throws -> Report {
    var report = Report()
    var suspects: [QueueName: [JobID]] = [:]
    let ledger = PostgresLedger(pool: pool)
    let before = JobID.least(at: Int64((now().timeIntervalSince1970 - age / .seconds(1)) * 1000))
    for queue in try await allQueues() {
      var after: JobID?
      var looked = 0
      while looked < limit {
        let ids = try await ledger.owedIDs(
          queue: queue, after: after, before: before, limit: min(Self.page, limit - looked))
        if ids.isEmpty { break }
        suspects[queue, default: []] += try await broker.unknown(ids, in: queue)
        looked += ids.count
        after = ids.last
      }
      report.owed += looked
    }
    suspects = suspects.filter { !$0.value.isEmpty }
    if suspects.isEmpty { return report }
    // A job that was owed again under its old id, as a dead letter is, may be on its way.
    try await clock.sleep(for: .seconds(1))
    for (queue, ids) in suspects {
      var unknown = 0
      for start in stride(from: 0, to: ids.count, by: Self.page) {
        let owed = try await ledger.owed(Array(ids[start..<min(start + Self.page, ids.count)]), queue: queue)
        unknown += try await broker.unknown(owed, in: queue).count
      }
      report.unknown += unknown
      if unknown > 0 { report.unknownByQueue[queue] = unknown }
    }
    return report
  }

  /// Steps from queue to queue along the key, which leads with them.
  private func allQueues() async throws -> [QueueName] {
    let found = try await pool.query(
      """
      WITH RECURSIVE queues AS (
        (SELECT queue AS name FROM jobs ORDER BY queue LIMIT 1)
        UNION ALL
        SELECT (SELECT queue FROM jobs WHERE queue > name ORDER BY queue LIMIT 1) FROM queues WHERE name IS NOT NULL
      )
      SELECT name FROM queues WHERE name IS NOT NULL
      """
    ).decode(String.self)
    return Set(queues).union(found.map { QueueName(rawValue: $0) }).sorted()
  }
}
