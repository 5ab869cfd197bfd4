import DurableJobs
import DurableJobsPostgres
import Foundation

/// Builds a page of pending jobs: each queue is read newest first, and the results are merged by id.
///
/// Delayed, retrying and parked jobs have partial indexes and are found at once. Any other filter reads a bounded
/// number of rows, however many there are, and the page then says where to continue.
struct PendingListing {
  let filter: JobFilter
  let database: JobsDatabase

  /// How many rows a page reads if no index covers the filter.
  static let budget = 10_000

  /// The result of reading a queue's range.
  private struct Scan {
    let range: PendingRange
    /// The last row read, if more follow.
    let edge: JobID?
    var found: [JobSummary] = []
    /// All matches down to this id have been found; nil for the whole range.
    var horizon: JobID?
  }

  func page() async throws -> JobPage {
    let before = try filter.before.map { try JobAdmin.parse($0, "a page's `next`") } ?? bound(filter.until)
    let since = filter.since.map(bound) ?? JobID(high: 0, low: 0)
    let running = RunningJobs(try await database.runningJobs())
    if filter.state == .running { return try await running.page(filter, before: before, since: since, on: database) }
    let ranges = try await queues().map { queue in
      PendingRange(queue: queue, from: since, before: before, index: filter.state?.pending)
    }
    let share = max(1000, Self.budget / max(1, ranges.count))
    let scans = try await scan(at: ranges, share: share, running)
    let horizon = scans.compactMap(\.horizon).max()
    let complete = scans.flatMap(\.found).filter { summary in
      guard let horizon, let id = JobID(summary.id) else { return true }
      return id >= horizon
    }.sorted { $0.id > $1.id }
    let items = Array(complete.prefix(filter.limit))
    if items.count == filter.limit, complete.count > items.count || horizon != nil {
      return JobPage(items: items, next: items.last?.id, searched: nil)
    }
    guard let horizon else { return JobPage(items: items, next: nil, searched: nil) }
    return JobPage(items: items, next: horizon.description, searched: try await searched(scans, share: share))
  }

  /// The smallest id that can have been made at a moment, an exclusive upper bound for those made before it.
  private func bound(_ moment: Date?) -> JobID {
    moment.map { JobID.min(at: $0) } ?? JobID(high: .max, low: .max)
  }

  private func queues() async throws -> [QueueName] {
    if let queue = filter.queue { return [QueueName(rawValue: queue)] }
    return try await database.pendingQueues()
  }

  /// - Parameter share: how many rows of each range are read.
  private func scan(at ranges: [PendingRange], share: Int, _ running: RunningJobs) async throws -> [Scan] {
    // If every row matches, a page fills before many rows are read.
    let search = JobSearch(filter)
    let isFiltered = filter.state != nil || filter.kind != nil || search.isActive
    let edges = isFiltered ? try await database.edges(of: ranges, rows: share) : ranges.map { _ in nil }
    let wanted = PendingFilter(
      state: filter.state?.pending, kind: filter.kind, except: filter.state == .waiting ? running.ids : [],
      payload: search.condition)
    let bounded = zip(ranges, edges).map { range, edge in range.from(edge ?? range.from) }
    let pages = try await database.pendingJobs(in: bounded, wanted, limit: filter.limit + 1)
    var scans: [Scan] = []
    for (index, range) in bounded.enumerated() {
      var scan = Scan(range: ranges[index], edge: edges[index], horizon: edges[index])
      var (jobs, limit) = (pages[index], filter.limit + 1)
      while true {
        for job in jobs where scan.found.count <= filter.limit {
          guard try await search.isFound(job, payload: { try await database.payload(of: $0.id, in: $0.queue) })
          else { continue }
          scan.found.append(JobSummary(job.row, isRunning: running.contains(job.row.id)))
        }
        guard scan.found.count <= filter.limit, jobs.count == limit, let last = jobs.last else { break }
        limit = JobSearch.batch
        jobs = try await database.pendingJobs(in: [range.before(last.row.id)], wanted, limit: limit)[0]
      }
      if scan.found.count > filter.limit, let last = scan.found.last { scan.horizon = JobID(last.id) }
      scans.append(scan)
    }
    return scans
  }

  /// How many jobs a page that is not full has read.
  private func searched(_ scans: [Scan], share: Int) async throws -> Int {
    let whole = scans.filter { $0.horizon != nil && $0.horizon == $0.edge }
    let others = scans.filter { $0.horizon == nil || $0.horizon != $0.edge }
    let counts = try await database.pendingCounts(in: others.map { $0.range.from($0.horizon ?? $0.range.from) })
    return whole.count * share + counts.reduce(0, +)
  }
}

extension PendingRange {
  fileprivate func from(_ id: JobID) -> PendingRange {
    PendingRange(queue: queue, from: id, before: before, index: index)
  }

  fileprivate func before(_ id: JobID) -> PendingRange {
    PendingRange(queue: queue, from: from, before: id, index: index)
  }
}
