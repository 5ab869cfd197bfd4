import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// The doctor's look at what operators watch: workers that went without a word, schedules that nobody fires, queues
/// that stand still.
struct OperationsExamination {
  let connection: PostgresConnection
  let terms: DoctorTerms

  func run() async throws -> [Finding] {
    [
      try await lostWorkers(), try await processClocks(), try await schedules(), try await pausedQueues(),
      try await refusedJobs(), try await oldestSnapshot(),
    ]
  }

  private func lostWorkers() async throws -> Finding {
    let lost = try await connection.query(
      """
      SELECT name FROM workers
      WHERE \(unescaped: WorkerPresence.isListed) AND NOT (\(unescaped: WorkerPresence.isHeard))
      ORDER BY seen_at DESC
      """
    ).decode(String.self)
    if lost.isEmpty { return .ok("lost workers", "none in the last hour") }
    return .warn(
      "lost workers", "\(lost.count) went without a word in the last hour: \(list(lost))",
      "their jobs went to others; `\(terms.command) workers list` shows when, their logs may say why")
  }

  /// What processes say of their machines' clocks; those that are right say nothing.
  private func processClocks() async throws -> Finding {
    let off = try await connection.query(
      """
      SELECT program, host, ahead_ms FROM process_clocks
      WHERE seen_at > now() - interval '1 minute' ORDER BY abs(ahead_ms) DESC, process
      """
    ).decode(String.self, String.self, Int64.self)
    if off.isEmpty { return .ok("process clocks", "none is off by more than a second") }
    let processes = off.map { program, host, ahead in
      "\(program) on \(host) (\(abs(ahead) / 1000) s \(ahead < 0 ? "behind" : "ahead of") Postgres)"
    }
    return .warn(
      "process clocks", list(processes),
      "set the clocks of these machines by NTP: the processes go by Postgres' clock meanwhile")
  }

  private func schedules() async throws -> Finding {
    let overdue = try await connection.query(
      "SELECT name FROM schedules WHERE NOT paused AND next_tick < now() - interval '1 minute' ORDER BY next_tick"
    ).decode(String.self)
    if overdue.isEmpty { return .ok("schedules", "none is overdue") }
    return .warn(
      "schedules", "overdue: \(list(overdue))",
      "start \(terms.schedulingWorker); `\(terms.command) schedules list` shows the ticks")
  }

  private func pausedQueues() async throws -> Finding {
    let paused = try await connection.query("SELECT queue, paused_at, paused_by FROM queue_pauses ORDER BY paused_at")
      .decode(String.self, Date.self, String.self)
    if paused.isEmpty { return .ok("paused queues", "none") }
    return .warn(
      "paused queues", list(paused.map { "\($0.0) (since \($0.1.formatted(.iso8601)) by \($0.2))" }),
      "`\(terms.command) queues resume QUEUE` when what it was paused for is over")
  }

  /// Owed jobs that the broker cannot take, as the relay has left word.
  private func refusedJobs() async throws -> Finding {
    let refused = try await connection.query(
      "SELECT id, queue, refusal FROM jobs WHERE refusal IS NOT NULL ORDER BY queue, id LIMIT 100"
    ).decode(PostgresUUID.self, String.self, String.self)
    if refused.isEmpty { return .ok("refused jobs", "none") }
    return .warn(
      "refused jobs", list(refused.map { "\(JobID($0.0)) in \($0.1) (\($0.2))" }),
      "something else than this program has written them: correct the row in `jobs` and set its `refusal` to null, or `\(terms.command) jobs cancel ID`"
    )
  }

  /// What keeps Postgres from cleaning up after jobs that are done.
  private func oldestSnapshot() async throws -> Finding {
    guard let oldest = try await OldestSnapshot.read(connection) else {
      return .ok("oldest snapshot", "none is held")
    }
    let detail = "held for \(Int(oldest.seconds)) s by \(oldest.holder)"
    if oldest.seconds < OldestSnapshot.long { return .ok("oldest snapshot", detail) }
    return .warn(
      "oldest snapshot", detail,
      "what jobs leave behind cannot be cleaned up meanwhile: end it where it is not needed, and back up from a replica"
    )
  }

  private func list(_ names: [String]) -> String {
    names.prefix(5).joined(separator: ", ") + (names.count > 5 ? " and \(names.count - 5) more" : "")
  }
}
