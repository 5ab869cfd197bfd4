import Foundation
import Postgres

/// The doctor's look at what operators watch: workers that went without a word, schedules that nobody fires, queues that stand
/// still.
struct OperationsExamination {
  let connection: PostgresConnection

  func run() async throws -> [Finding] {
    [try await lostWorkers(), try await schedules(), try await pausedQueues()]
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
      "their jobs went to others; `fanmill workers list` shows when, their logs may say why")
  }

  private func schedules() async throws -> Finding {
    let overdue = try await connection.query(
      "SELECT name FROM schedules WHERE NOT paused AND next_tick < now() - interval '1 minute' ORDER BY next_tick"
    ).decode(String.self)
    if overdue.isEmpty { return .ok("schedules", "none is overdue") }
    return .warn(
      "schedules", "overdue: \(list(overdue))",
      "start a worker whose FANMILL_SCHEDULER is on; `fanmill schedules list` shows the ticks")
  }

  private func pausedQueues() async throws -> Finding {
    let paused = try await connection.query("SELECT queue, paused_at, paused_by FROM queue_pauses ORDER BY paused_at")
      .decode(String.self, Date.self, String.self)
    if paused.isEmpty { return .ok("paused queues", "none") }
    return .warn(
      "paused queues", list(paused.map { "\($0.0) (since \($0.1.formatted(.iso8601)) by \($0.2))" }),
      "`fanmill queues resume QUEUE` when what it was paused for is over")
  }

  private func list(_ names: [String]) -> String {
    names.prefix(5).joined(separator: ", ") + (names.count > 5 ? " and \(names.count - 5) more" : "")
  }
}
