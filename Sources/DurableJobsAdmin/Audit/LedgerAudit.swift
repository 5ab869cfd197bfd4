import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation

/// Compares the ledger's pending jobs with the jobs that the broker knows, in both directions.
///
/// A job pending in the ledger and unknown to the broker is not lost: the relay of a worker that serves its queue
/// pushes it within seconds. If that does not happen, no worker runs, or Redis refuses the push.
///
/// A job that only the broker knows changes nothing: the worker that runs it finds no ledger row to end, and its
/// transaction is rolled back. It costs memory, and its handler's outside effects are wasted.
public struct LedgerAudit: Sendable {
  /// The result of comparing the ledger with the broker.
  public struct Report: Sendable, Hashable {
    /// Pending jobs that are not parked and are old enough for their push to have arrived.
    public var pending = 0
    /// Those of them that the broker does not know.
    public var missing = 0
    /// Missing jobs by queue, without the queues that have none.
    public var missingByQueue: [QueueName: Int] = [:]
  }

  /// The result of comparing the broker's durable jobs, ready, delayed or claimed, with the ledger.
  public struct Leftovers: Sendable, Hashable {
    public var known = 0
    /// Those of them that were not pending in the ledger at any check.
    public var orphaned = 0
    /// Orphaned jobs by queue, without the queues that have none.
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
  ///   - queues: queues to check besides those with pending jobs in the ledger.
  ///   - limit: how many jobs to check per queue, oldest first.
  ///   - age: the minimum age of a checked job; the relay checks jobs of 5 seconds every 5 seconds.
  ///   - clock: measures the pauses before jobs that differ are checked again.
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

  /// Compares each queue's ledger with the broker, and checks differences a second time, since jobs move meanwhile.
  public func run() async throws -> Report {
    var report = Report()
    var suspects: [QueueName: [JobID]] = [:]
    let ledger = PostgresLedger(database)
    let before = JobID.min(at: now() - age / .seconds(1))
    for queue in try await allQueues() {
      var after: JobID?
      var checked = 0
      while checked < limit {
        let ids = try await ledger.pendingIDs(
          queue: queue, after: after, before: before, limit: min(Self.page, limit - checked))
        if ids.isEmpty { break }
        suspects[queue, default: []] += try await broker.missing(ids, in: queue)
        checked += ids.count
        after = ids.last
      }
      report.pending += checked
    }
    suspects = suspects.filter { !$0.value.isEmpty }
    if suspects.isEmpty { return report }
    // A job that became pending again under its old id, such as a retried dead letter, may still be on its way.
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

  /// Walks through all the jobs that the broker knows, a thousand at a time. Neither server is held up, and only
  /// suspects are kept in memory.
  ///
  /// The broker knows an ended job until it is acknowledged, a moment later. If its worker dies in between, that takes
  /// until the lease expires and another worker drops the job. So suspects are checked again, for at most seven
  /// seconds.
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
