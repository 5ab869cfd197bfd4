#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import DurableJobs
import LibPQClient

/// Figures for the queues that need no scan of the jobs, for callers that poll every few seconds.
package struct LedgerFacts: Sendable {
  /// A queue's counts for one minute.
  package struct Minute: Sendable, Hashable {
    package let queue: String
    /// The start of the minute, in seconds since 1970.
    package let start: Int
    /// Attempts that ended.
    package let ended: Int
    /// The total run time of these attempts.
    package let runSeconds: Double
  }

  /// The workers serving a queue.
  package struct Serving: Sendable, Hashable {
    package let count: Int
    /// How many of its jobs they run at once, in total.
    package let concurrency: Int
  }

  /// The last three minutes.
  package fileprivate(set) var minutes: [Minute] = []
  /// By queue, the live workers that are not stopping.
  package fileprivate(set) var workers: [String: Serving] = [:]
  /// By queue, when the longest-running job started.
  package fileprivate(set) var running: [String: Date] = [:]
  package fileprivate(set) var paused: Set<String> = []
  /// Queues with an open alarm.
  package fileprivate(set) var alarmed: Set<String> = []
  /// How long the oldest snapshot has been held, in seconds; 0 without any.
  package fileprivate(set) var oldestSnapshot = 0.0
}

extension JobsDatabase {
  /// Reads everything in one round trip.
  package func facts() async throws -> LedgerFacts {
    let rows = try await pool.pipeline([
      """
      SELECT queue, extract(epoch FROM minute)::bigint, sum(completed + failed + dead)::bigint, sum(run_ms) / 1000
      FROM \(schema.minutes) WHERE minute > now() - interval '3 minutes' GROUP BY queue, minute
      """,
      """
      SELECT served->>'queue', count(*), sum((served->>'slots')::bigint)::bigint
      FROM \(schema.workers), jsonb_array_elements(queues) AS served
      WHERE \(unescaped: WorkerPresence.isHeard) AND state <> 'stopping' GROUP BY 1
      """,
      """
      SELECT job->>'queue', to_timestamp(min((job->>'since')::bigint) / 1000.0)
      FROM \(schema.workers), jsonb_array_elements(running) AS job
      WHERE \(unescaped: WorkerPresence.isHeard) GROUP BY 1
      """,
      "SELECT queue FROM \(schema.queuePauses)",
      "SELECT DISTINCT queue FROM \(schema.alarms) WHERE closed_at IS NULL",
      OldestSnapshot.query,
    ])
    var facts = LedgerFacts()
    facts.minutes = try rows[0].decode(String.self, Int.self, Int.self, Double.self).map {
      LedgerFacts.Minute(queue: $0, start: $1, ended: $2, runSeconds: $3)
    }
    for (queue, count, concurrency) in try rows[1].decode(String.self, Int.self, Int.self) {
      facts.workers[queue] = LedgerFacts.Serving(count: count, concurrency: concurrency)
    }
    for (queue, since) in try rows[2].decode(String.self, Date.self) { facts.running[queue] = since }
    facts.paused = Set(try rows[3].decode(String.self))
    facts.alarmed = Set(try rows[4].decode(String.self))
    facts.oldestSnapshot = try OldestSnapshot.decode(rows[5])?.seconds ?? 0
    return facts
  }
}
