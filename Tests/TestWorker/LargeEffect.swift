import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Inserts its number and the length of its text into `effects` and `large_effects`, in one transaction.
struct LargeEffect: Job {
  static let kind: JobKind = "test.large-effect"
  static let queue: QueueName = "effects"

  var number: Int
  var text: String

  static func run(_ job: LargeEffect, _ context: JobContext<PostgresLedger>) async throws {
    try await context.transaction { transaction in
      _ = try await transaction.sql.execute("INSERT INTO effects (number) VALUES (\(job.number))")
      _ = try await transaction.sql.execute(
        "INSERT INTO large_effects (number, length) VALUES (\(job.number), \(job.text.utf8.count))")
    }
  }
}
