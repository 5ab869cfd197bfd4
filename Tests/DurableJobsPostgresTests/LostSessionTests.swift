import DurableJobs
import Foundation
import LibPQClient
import PrivateServers
import TestSupport
import Testing

@testable import DurableJobsPostgres

/// Sessions of workers that no longer report, which others end.
@Suite struct LostSessionTests {
  private func report(_ name: String) -> WorkerReport {
    WorkerReport(
      name: name, host: "h", pid: 1, version: "v", startedAt: Date(timeIntervalSince1970: 0), queues: [],
      lease: .zero)
  }

  @Test func onlyAWorkerThatReportsEndsOthersSessions() async throws {
    let url = try await SharedServers.freshDatabase()
    try await TestDatabase.withPool(url) { pool in
      try await JobsSchema.migrate(pool)
      let workers = PostgresWorkerRegistry(pool: pool)
      let silent: PostgresQuery = "UPDATE jobs.workers SET seen_at = now() - interval '1 minute'"
      try await TestDatabase.withPool(url + (url.contains("?") ? "&" : "?") + "application_name=lost") { lost in
        _ = try await workers.heartbeat(report("lost"))
        _ = try await workers.heartbeat(report("peer"))
        let session = try await lost.dedicatedConnection()
        try await session.execute("BEGIN")
        try await eventually("its transaction is older than a lease") {
          try await pool.count(
            """
            SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'lost'
              AND xact_start < now() - interval '600 milliseconds'
            """) == 1
        }
        // No worker has reported for a minute: the first report of either ends nothing.
        try await pool.execute(silent)
        _ = try await workers.heartbeat(report("peer"))
        try await pool.execute(silent)
        _ = try await workers.heartbeat(report("lost"))
        try await session.execute("SELECT 1")
        // The other reports again, and it does not.
        try await pool.execute("\(silent) WHERE name = 'lost'")
        try await eventually("its session is ended") {
          _ = try await workers.heartbeat(report("peer"))
          return await session.isClosed
        }
        await session.close()
      }
    }
  }
}
