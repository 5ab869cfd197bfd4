import DurableJobs
import DurableJobsPostgres

/// The running jobs as workers reported them, up to a second ago; at most `WorkerReport.maxRunning` per worker.
struct RunningJobs: Sendable {
  private let queues: [JobID: QueueName]

  init(_ queues: [JobID: QueueName]) { self.queues = queues }

  var ids: [JobID] { Array(queues.keys) }

  func contains(_ id: JobID) -> Bool { queues[id] != nil }

  /// A page of those that are still pending. Each is read by its key, however many others wait.
  func page(_ filter: JobFilter, before: JobID, since: JobID, on database: JobsDatabase) async throws -> JobPage {
    let search = JobSearch(filter)
    let jobs = try await database.pendingJobs(
      among: queues, from: since, before: before, queue: filter.queue, kind: filter.kind, payload: search.condition,
      limit: search.isActive ? queues.count : filter.limit + 1)
    var found: [JobSummary] = []
    for job in jobs where found.count <= filter.limit {
      guard try await search.isFound(job, payload: { try await database.payload(of: $0.id, in: $0.queue) })
      else { continue }
      found.append(JobSummary(job.row, isRunning: true))
    }
    let items = Array(found.prefix(filter.limit))
    return JobPage(items: items, next: found.count > items.count ? items.last?.id : nil, searched: nil)
  }
}
