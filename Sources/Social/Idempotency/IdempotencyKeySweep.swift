import DurableJobs
import DurableJobsPostgres

/// Deletes old idempotency keys, one batch per job.
public struct IdempotencyKeySweep: Job {
  public static let kind: JobKind = "idempotency-keys.sweep"
  static let batch = 1000

  public init() {}

  func run(in transaction: AppTransaction) async throws {
    if try await IdempotencyKeys.sweep(upTo: Self.batch, in: transaction.sql) == Self.batch {
      try await transaction.enqueue(self)
    }
  }
}
