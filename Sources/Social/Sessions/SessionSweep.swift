import Jobs
import JobsPostgres

/// Forgets the sessions and the tokens for new passwords that have expired, and attempts that count no more, a batch a job.
public struct SessionSweep: Job {
  public static let kind: JobKind = "sessions.sweep"
  static let batch = 1000

  public init() {}

  static func run(_ job: SessionSweep, _ context: JobContext<PostgresLedger>) async throws {
    try await context.transaction { transaction in
      let sessions = try await Sessions.sweep(upTo: batch, in: transaction.sql)
      let attempts = try await AttemptLimit.sweep(upTo: batch, in: transaction.sql)
      let resets = try await PasswordResets.sweep(upTo: batch, in: transaction.sql)
      if max(sessions, attempts, resets) == batch { try await transaction.enqueue(job) }
    }
  }
}
