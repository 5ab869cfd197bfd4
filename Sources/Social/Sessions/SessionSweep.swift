import DurableJobs
import DurableJobsPostgres

/// Forgets the sessions and the tokens that have expired, what listeners were told more than a day ago, meetings that
/// have ended, attempts that count no more, addresses that nobody confirmed, and usernames that were kept long enough,
/// a batch a job. Brings addresses that an earlier version wrote into the normal form.
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
