import DurableJobs
import DurableJobsPostgres

/// Forgets the sessions and the tokens for new passwords that have expired, and attempts that count no more, a batch a
/// job. Brings addresses that an earlier version wrote into the normal form.
public struct SessionSweep: Job {
  public static let kind: JobKind = "sessions.sweep"
  static let batch = 1000

  public init() {}

  static func run(_ job: SessionSweep, _ context: JobContext<PostgresLedger>) async throws {
    try await context.transaction { transaction in
      let sessions = try await Sessions.sweep(upTo: batch, in: transaction.sql)
      let attempts = try await AttemptBook.sweep(upTo: batch, in: transaction.sql)
      let networks = try await AccountNetworks.sweep(upTo: batch, in: transaction.sql)
      let resets = try await PasswordResets.sweep(upTo: batch, in: transaction.sql)
      try await EmailAddresses.normalize(in: transaction.sql)
      if max(sessions, attempts, networks, resets) == batch { try await transaction.enqueue(job) }
    }
  }
}
