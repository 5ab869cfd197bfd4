import DurableJobs
import DurableJobsPostgres

/// Walks through all jobs that a filter finds, page by page: what a list shows is what an action changes.
struct JobPages: Sendable {
  let database: JobsDatabase
  let clock: any Clock<Duration>

  /// The number of jobs in a page.
  private static let limit = 1000

  /// Calls `body` with each page, from the newest job on. Jobs that come meanwhile are not included.
  ///
  /// - Parameters:
  ///   - rate: the most jobs a second; nil for as fast as possible.
  ///   - body: returns how many jobs it changed.
  func walk(_ filter: JobFilter, rate: Int? = nil, _ body: ([JobSummary]) async throws -> Int) async throws {
    var filter = filter
    filter.limit = min(Self.limit, max(1, rate ?? Self.limit))
    while true {
      let page = try await JobAdmin.page(filter, on: database)
      if !page.items.isEmpty {
        let count = try await body(page.items)
        if let rate { try await clock.sleep(for: .seconds(1) * count / max(1, rate)) }
      }
      try Task.checkCancellation()
      guard let next = page.next else { return }
      filter.before = next
    }
  }
}

extension JobAdmin {
  /// The number of jobs that a filter finds, by kind. Changes nothing.
  ///
  /// - Throws: `.usage` for an invalid cursor.
  public func counts(_ filter: JobFilter) async throws -> [(kind: String, count: Int)] {
    var counts: [String: Int] = [:]
    try await JobPages(database: database, clock: clock).walk(filter) { jobs in
      for job in jobs { counts[job.kind, default: 0] += 1 }
      return 0
    }
    return counts.sorted { $0.key < $1.key }.map { (kind: $0.key, count: $0.value) }
  }

  /// Cancels all pending jobs that a filter finds. Workers that run some of them are notified, and roll back their
  /// transactions.
  ///
  /// - Parameters:
  ///   - rate: the most jobs a second; nil for as fast as possible.
  ///   - progress: called after each page with the number of jobs cancelled so far.
  /// - Returns: how many are cancelled, and how many more are ordered to be: they run, and some may finish first.
  /// - Throws: `.forbidden`; `.usage` for a filter of jobs that are not pending.
  public func cancel(
    all filter: JobFilter, by actor: Operator, rate: Int? = nil, progress: @Sendable (Int) -> Void = { _ in }
  ) async throws -> (cancelled: Int, ordered: Int) {
    try actor.mustBeAbleToAct()
    if let state = filter.state, !state.isPending {
      throw OperationError(.usage, "\(state.rawValue) jobs are not pending, so there is nothing to cancel")
    }
    let cancellation = JobCancellation(database: database, broker: broker)
    var (cancelled, ordered) = (0, 0)
    try await JobPages(database: database, clock: clock).walk(filter, rate: rate) { jobs in
      var detail = filter.detail
      detail["jobs"] = "\(jobs.count)"
      try await ActionLog(database).record("jobs.cancel-all", filter.kind ?? "*", detail: detail, by: actor)
      for (queue, jobs) in Dictionary(grouping: jobs, by: \.queue) {
        let (queue, ids) = (QueueName(rawValue: queue), jobs.compactMap { JobID($0.id) }.sorted())
        let gone = try await cancellation.cancelUnheld(ids, of: queue)
        let held = Set(ids).subtracting(gone).sorted()
        cancelled += gone.count
        ordered += try await cancellation.order(held, of: queue)
      }
      progress(cancelled)
      return jobs.count
    }
    return (cancelled, ordered)
  }
}
