import DurableJobs
import DurableJobsPostgres
import Foundation

/// Builds a page of dead or ended jobs, most recent first.
///
/// A filter without an index reads a bounded number of rows, however many there are, and the page then says where to
/// continue.
struct FinishedListing {
  let filter: JobFilter
  let database: JobsDatabase

  func page() async throws -> JobPage {
    let start =
      try filter.before.map { text throws(OperationError) in try FinishedPlace(cursor: text) }
      ?? FinishedPlace(at: filter.until ?? .distantFuture, id: JobID(high: 0, low: 0))
    let search = JobSearch(filter)
    let wanted = FinishedFilter(
      end: filter.state?.end, kind: filter.kind, queue: filter.queue, since: filter.since ?? .distantPast,
      payload: search.condition)
    let (found, edge) = try await database.finishedJobs(wanted) { jobs in
      let edge =
        wanted.isIndexed && !search.isActive ? nil : try await jobs.edge(from: start, count: PendingListing.budget)
      return (try await find(at: jobs, from: start, to: edge ?? .end, search), edge)
    }
    let items = found.prefix(filter.limit).map { JobSummary($0) }
    if found.count > filter.limit, let last = found[..<filter.limit].last?.finishedPlace {
      return JobPage(items: items, next: last.cursor, searched: nil)
    }
    return JobPage(items: items, next: edge?.cursor, searched: edge.map { _ in PendingListing.budget })
  }

  /// The first matches, one more than a page has, among the rows that a page reads.
  private func find(
    at jobs: FinishedJobs, from start: FinishedPlace, to end: FinishedPlace, _ search: JobSearch
  ) async throws -> [JobRow] {
    var found: [JobRow] = []
    var (place, limit) = (start, filter.limit + 1)
    while true {
      let batch = try await jobs.page(from: place, to: end, limit: limit)
      for job in batch where found.count <= filter.limit {
        guard try await search.isFound(job, payload: { try await jobs.payload(of: $0.id) }) else { continue }
        found.append(job.row)
      }
      guard found.count <= filter.limit, batch.count == limit, let last = batch.last?.row.finishedPlace else {
        return found
      }
      place = last
      limit = JobSearch.batch
    }
  }
}

extension FinishedPlace {
  /// - Throws: `.usage` for a cursor that no page returned.
  fileprivate init(cursor: String) throws(OperationError) {
    let parts = cursor.split(separator: ".")
    guard parts.count == 2, let microseconds = Int64(parts[0]), let id = JobID(String(parts[1])) else {
      throw OperationError(.usage, "'\(cursor)' is not the `next` of an earlier page")
    }
    self.init(at: Date(timeIntervalSinceReferenceDate: Double(microseconds) / 1e6), id: id)
  }

  /// Microseconds, the server's precision, so that no job is skipped between two pages.
  fileprivate var cursor: String { "\(Int64((at.timeIntervalSinceReferenceDate * 1e6).rounded())).\(id)" }
}
