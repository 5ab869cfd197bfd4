import Jobs
import JobsPostgres

/// Forgets the sessions that have expired, and attempts to sign in that count no more, a batch a job.
public struct SessionSweep: Job {
  public static let kind: JobKind = "sessions.sweep"
  static let batch = 1000

  public init() {}

  static func run(_ job: SessionSweep, _ context: JobContext<PostgresLedger>) async throws {
    try await context.transaction { transaction in
      let sessions = try await Sessions.sweep(upTo: batch, in: transaction.sql)
      let attempts = try await SignInAttempts.sweep(upTo: batch, in: transaction.sql)
      if max(sessions, attempts) == batch { try await transaction.enqueue(job) }
    }
  }
}
