import DurableJobs
import DurableJobsPostgres

/// Deletes expired sessions and tokens, live events older than a day, ended meetings, expired attempt counts,
/// unconfirmed addresses, and usernames whose reservation has ended, one batch per job. Also normalizes addresses that
/// an earlier version stored.
public struct SessionSweep: Job {
  public static let kind: JobKind = "sessions.sweep"
  static let batch = 1000

  public init() {}

  func run(in transaction: AppTransaction) async throws {
    let sessions = try await Sessions.sweep(upTo: Self.batch, in: transaction.sql)
    let attempts = try await AttemptBook.sweep(upTo: Self.batch, in: transaction.sql)
    let networks = try await AccountNetworks.sweep(upTo: Self.batch, in: transaction.sql)
    let resets = try await PasswordResets.sweep(upTo: Self.batch, in: transaction.sql)
    let names = try await Usernames.sweep(upTo: Self.batch, in: transaction.sql)
    let changes = try await EmailChanges.sweep(upTo: Self.batch, in: transaction.sql)
    let deletions = try await Deletions.sweep(upTo: Self.batch, in: transaction.sql)
    let meetings = try await Meetings.sweep(upTo: Self.batch, in: transaction.sql)
    let events = try await EventFeed.sweep(upTo: Self.batch, in: transaction.sql)
    try await EmailAddresses.normalize(in: transaction.sql)
    if max(sessions, attempts, networks, resets, names, changes, deletions, events, meetings) == Self.batch {
      try await transaction.enqueue(self)
    }
  }
}
