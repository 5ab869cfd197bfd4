import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Inserts a row into `effects`, whose rows per job are counted: more than one is an error. Then, still in the
/// transaction, it waits at a gate, if one is named.
struct CountEffect: Job {
  static let kind: JobKind = "test.count-effect"
  static let queue: QueueName = "effects"

  var number: Int
  /// The advisory lock to wait for; nil for none.
  var gate: Int?

  static func run(_ job: CountEffect, _ context: JobContext<PostgresLedger>) async throws {
    try await context.transaction { transaction in
      _ = try await transaction.sql.execute("INSERT INTO effects (number) VALUES (\(job.number))")
      if let gate = job.gate {
        _ = try await transaction.sql.query("SELECT pg_advisory_xact_lock_shared(\(gate))", timeout: .seconds(600))
      }
    }
  }
}
