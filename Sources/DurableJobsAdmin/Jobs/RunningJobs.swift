import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// What workers say that they run, as of a second ago; of a worker that runs very many, `WorkerReport.maxRunning`.
struct RunningJobs: Sendable {
  private let queues: [JobID: String]

  static func read(_ pool: PostgresPool) async throws -> RunningJobs {
    let rows = try await pool.query(
      """
      SELECT (run->>'id')::uuid, run->>'queue' FROM workers, jsonb_array_elements(running) AS run
      WHERE \(unescaped: WorkerPresence.isHeard)
      """
    ).decode(PostgresUUID.self, String.self)
    return RunningJobs(queues: Dictionary(rows.map { (JobID($0), $1) }) { first, _ in first })
  }

  var ids: [PostgresUUID] { queues.keys.map { PostgresUUID($0) } }

  func contains(_ id: JobID) -> Bool { queues[id] != nil }

  /// A page of those that are still pending: each is looked up by its key, however many others wait.
  func page(_ filter: JobFilter, before: JobID, since: JobID, on pool: PostgresPool) async throws -> JobPage {
    let (kind, queue, search) = (filter.kind, filter.queue, PayloadSearch(filter))
    let rows = try await pool.query(
      """
      SELECT \(unescaped: JobRow.pending), \(unescaped: search.sought)
      FROM jobs JOIN unnest(\(Array(queues.values)), \(ids)) AS run (run_queue, run_id)
        ON queue = run_queue AND id = run_id\(unescaped: search.prepared)
      WHERE NOT parked AND (run_at IS NULL OR run_at <= now())
        AND id < \(PostgresUUID(before)) AND id >= \(PostgresUUID(since))
        AND (\(kind) IS NULL OR kind = \(kind)) AND (\(queue) IS NULL OR queue = \(queue))
        AND \(search)
      ORDER BY id DESC LIMIT \(search.text == nil ? filter.limit + 1 : queues.count)
      """
    )
    var found: [JobSummary] = []
    for row in rows where found.count <= filter.limit {
      guard try await search.isFound(row, in: "jobs", { try await pool.query($0) }) else { continue }
      found.append(try JobRow.summary(row, running: self))
    }
    let items = Array(found.prefix(filter.limit))
    return JobPage(items: items, next: found.count > items.count ? items.last?.id : nil, searched: nil)
  }
}
