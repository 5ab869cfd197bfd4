import DurableJobs
import DurableJobsPostgres

/// Forgets the idempotency keys of days gone by, a batch a job.
public struct IdempotencyKeySweep: Job {
  public static let kind: JobKind = "idempotency-keys.sweep"
  static let batch = 1000

  public init() {}

  static func run(_ job: IdempotencyKeySweep, _ context: JobContext<PostgresLedger>) async throws {
    try await context.transaction { transaction in
      if try await IdempotencyKeys.sweep(upTo: batch, in: transaction.sql) == batch {
        try await transaction.enqueue(job)
      }
    }
  }
}
