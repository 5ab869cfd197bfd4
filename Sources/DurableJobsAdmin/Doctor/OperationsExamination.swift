import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

/// The doctor's check of what operators watch: workers that vanished, schedules that no worker fires, queues that
/// are stalled.
struct OperationsExamination: Examination {
  let schema: JobsSchema
  let terms: DoctorTerms

  /// The age in seconds from which an old snapshot is reported.
  private static let longSnapshot: Double = 300

  func run(in transaction: PostgresTransaction) async throws -> [Finding] {
    [
      lost(try await schema.lostWorkers(in: transaction)), clocks(try await schema.processClocks(in: transaction)),
      overdue(try await schema.overdueSchedules(in: transaction)),
      paused(try await schema.pausedQueues(in: transaction)),
      refused(try await schema.refusedJobs(in: transaction)),
      snapshot(try await OldestSnapshot.read(in: transaction)),
    ]
  }

  private func lost(_ lost: [String]) -> Finding {
    if lost.isEmpty { return .ok("lost workers", "none in the last hour") }
    return .warn(
      "lost workers", "\(lost.count) stopped reporting in the last hour: \(list(lost))",
      "their jobs were handed on; `\(terms.command) workers list` shows when, and their logs may say why")
  }

  /// Reports the machines' clocks as processes measured them; `off` has only those that are wrong.
  private func clocks(_ off: [ProcessClock]) -> Finding {
    if off.isEmpty { return .ok("process clocks", "none is off by more than a second") }
    let processes = off.map { clock in
      "\(clock.program) on \(clock.host) (\(abs(clock.ahead) / 1000) s \(clock.ahead < 0 ? "behind" : "ahead of") Postgres)"
    }
    return .warn(
      "process clocks", list(processes),
      "synchronize these machines with NTP; until then the processes use Postgres' clock")
  }

  private func overdue(_ overdue: [String]) -> Finding {
    if overdue.isEmpty { return .ok("schedules", "none is overdue") }
    return .warn(
      "schedules", "overdue: \(list(overdue))",
      "start \(terms.schedulingWorker); `\(terms.command) schedules list` shows the ticks")
  }

  private func paused(_ paused: [(queue: String, at: Date, by: String)]) -> Finding {
    if paused.isEmpty { return .ok("paused queues", "none") }
    return .warn(
      "paused queues", list(paused.map { "\($0.queue) (since \($0.at.formatted(.iso8601)) by \($0.by))" }),
      "`\(terms.command) queues resume QUEUE` once the reason for the pause is gone")
  }

  /// Reports pending jobs that the broker cannot accept, as recorded by the relay.
  private func refused(_ refused: [(id: JobID, queue: String, refusal: String)]) -> Finding {
    if refused.isEmpty { return .ok("refused jobs", "none") }
    return .warn(
      "refused jobs", list(refused.map { "\($0.id) in \($0.queue) (\($0.refusal))" }),
      """
      another program wrote them: correct the row in `jobs` and set its `refusal` to null, or \
      `\(terms.command) jobs cancel ID`
      """)
  }

  /// Reports the snapshot that keeps Postgres from cleaning up after finished jobs.
  private func snapshot(_ oldest: OldestSnapshot?) -> Finding {
    guard let oldest else { return .ok("oldest snapshot", "none is held") }
    let detail = "held for \(Int(oldest.seconds)) s by \(oldest.holder)"
    if oldest.seconds < Self.longSnapshot { return .ok("oldest snapshot", detail) }
    return .warn(
      "oldest snapshot", detail,
      "until it ends, vacuum cannot remove dead rows: end it if it is not needed, and take backups from a replica"
    )
  }

  private func list(_ names: [String]) -> String {
    names.prefix(5).joined(separator: ", ") + (names.count > 5 ? " and \(names.count - 5) more" : "")
  }
}
