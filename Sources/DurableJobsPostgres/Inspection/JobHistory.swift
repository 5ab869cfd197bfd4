#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import LibPQClient

/// A job's history beyond its own row.
package struct JobHistory: Sendable {
  /// An operator's action on it.
  package struct Action: Sendable, Hashable {
    package let at: Date
    /// The action's name, such as `jobs.cancel`.
    package let action: String
    package let actor: String
  }

  /// The worker that is running it.
  package struct Run: Sendable, Hashable {
    package let since: Date
    package let attempt: Int
    package let worker: String
  }

  /// Oldest first; if there are many, only the latest.
  package let actions: [Action]
  package let runs: [Run]

  fileprivate static let maxActions = 100
}

extension JobsDatabase {
  package func history(of id: JobID) async throws -> JobHistory {
    let subject = id.description
    let answers = try await pool.pipeline([
      """
      SELECT at, action, actor FROM \(schema.actions) WHERE subject = \(subject)
      ORDER BY id DESC LIMIT \(JobHistory.maxActions)
      """,
      """
      SELECT to_timestamp((run->>'since')::bigint / 1000.0), (run->>'attempt')::bigint, name
      FROM \(schema.workers), jsonb_array_elements(running) AS run
      WHERE run->>'id' = \(subject) AND \(unescaped: WorkerPresence.isHeard)
      """,
    ])
    return JobHistory(
      actions: try answers[0].decode(Date.self, String.self, String.self).reversed().map {
        JobHistory.Action(at: $0, action: $1, actor: $2)
      },
      runs: try answers[1].decode(Date.self, Int.self, String.self).map {
        JobHistory.Run(since: $0, attempt: $1, worker: $2)
      })
  }
}
