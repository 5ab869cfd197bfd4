import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation

/// Compares what the ledger owes with what the broker knows, and the other way round.
///
/// A job that the ledger owes and the broker does not know is not lost: the relay of a worker that serves its queue
/// pushes it within seconds. Where that does not happen, no worker runs, or Redis refuses what is pushed.
///
/// A job that the broker knows and the ledger does not owe changes nothing: whoever runs it finds no row to end, and
/// what its transaction wrote is undone. It takes memory, and what its handler does outside is done in vain.
public struct LedgerAudit: Sendable {
  /// What was found.
  public struct Report: Sendable, Hashable {
    /// Pending jobs, not parked, and old enough for their push to have arrived.
    public var pending = 0
    /// Those among them that the broker does not know.
    public var missing = 0
    /// By queue, where there are any.
    public var missingByQueue: [QueueName: Int] = [:]
  }

  /// What was found of the durable jobs that the broker has: ready, delayed and claimed ones.
  public struct Leftovers: Sendable, Hashable {
    public var known = 0
    /// Those among them that the ledger does not owe, and did not all the while that they were looked at.
    public var orphaned = 0
    /// By queue, where there are any.
    public var orphanedByQueue: [QueueName: Int] = [:]
  }

  private static let page = 1000

  private let database: JobsDatabase
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
    _ database: JobsDatabase, broker: RedisBroker, queues: [QueueName], limit: Int = .max,
    age: Duration = .seconds(15), clock: any Clock<Duration> = ContinuousClock(),
    now: @escaping @Sendable () -> Date = { JobClock.now }
  ) {
    self.database = database
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
    let ledger = PostgresLedger(database)
    let before = JobID.min(at: now() - age / .seconds(1))
    for queue in try await allQueues() {
      var after: JobID?
      var looked = 0
      while looked < limit {
        let ids = try await ledger.pendingIDs(
          queue: queue, after: after, before: before, limit: min(Self.page, limit - looked))
        if ids.isEmpty { break }
        suspects[queue, default: []] += try await broker.missing(ids, in: queue)
        looked += ids.count
        after = ids.last
      }
      report.pending += looked
    }
    suspects = suspects.filter { !$0.value.isEmpty }
    if suspects.isEmpty { return report }
    // A job that was pending again under its old id, as a dead letter is, may be on its way.
    try await clock.sleep(for: .seconds(1))
    for (queue, ids) in suspects {
      let unknown = try await inPages(ids) { page in
        try await broker.missing(try await ledger.pending(page, queue: queue), in: queue)
      }.count
      report.missing += unknown
      if unknown > 0 { report.missingByQueue[queue] = unknown }
    }
    return report
  }

  /// Walks through all that the broker knows, a thousand at a time, so neither server is held up and what is kept here
  /// is only what looks left over.
  ///
  /// A job that ended is known until it is acknowledged, a moment later; where its worker died in between, until the
  /// lease is over and another worker has dropped it. So what looks left over is looked at again, for seven seconds at
  /// most.
  public func leftovers() async throws -> Leftovers {
    var report = Leftovers()
    var suspects: [QueueName: Set<JobID>] = [:]
    for queue in try await allQueues() {
      var cursor: String?
      repeat {
        let page = try await broker.known(in: queue, from: cursor, count: Self.page)
        report.known += page.ids.count
        suspects[queue, default: []].formUnion(try await orphaned(page.ids, in: queue))
        cursor = page.next
      } while cursor != nil
    }
    for pause in [1, 2, 4] where suspects.contains(where: { !$0.value.isEmpty }) {
      try await clock.sleep(for: .seconds(pause))
      for (queue, ids) in suspects {
        let unknown = try await inPages(Array(ids)) { try await broker.missing($0, in: queue) }
        suspects[queue] = Set(try await orphaned(Array(ids.subtracting(unknown)), in: queue))
      }
    }
    report.orphanedByQueue = suspects.mapValues(\.count).filter { $0.value > 0 }
    report.orphaned = report.orphanedByQueue.values.reduce(0, +)
    return report
  }

  private func orphaned(_ ids: [JobID], in queue: QueueName) async throws -> [JobID] {
    let ledger = PostgresLedger(database)
    return try await inPages(ids) { page in
      Array(Set(page).subtracting(try await ledger.pending(page, queue: queue)))
    }
  }

  private func inPages(_ ids: [JobID], _ body: ([JobID]) async throws -> [JobID]) async throws -> [JobID] {
    var found: [JobID] = []
    for start in stride(from: 0, to: ids.count, by: Self.page) {
      found += try await body(Array(ids[start..<min(start + Self.page, ids.count)]))
    }
    return found
  }

  private func allQueues() async throws -> [QueueName] {
    Set(queues).union(try await database.pendingQueues()).sorted()
  }
}
