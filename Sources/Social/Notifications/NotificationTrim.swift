import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Finds owners with notifications that are too old or too many, and enqueues a trim for each. Runs daily, one page of
/// owners per job.
public struct NotificationRetention: Job {
  public static let kind: JobKind = "notifications.retention"
  public static let queue = SocialJobs.notificationQueue

  /// Owners with ids above this are still to be checked; nil for all.
  public var after: Int?

  public init(after: Int? = nil) { self.after = after }

  func run(in transaction: AppTransaction) async throws {
    let sizes = NotificationSizes.current
    // Checks only the rows with the lowest ids: ids grow with time, except for rows that a job wrote late.
    let owners = try await transaction.sql.query(
      """
      SELECT c.owner_id, c.kept > \(sizes.kept) OR coalesce((
          SELECT min(first.created_at) < now() - make_interval(months => \(Int32(sizes.months)))
          FROM (
            SELECT n.created_at FROM notifications n WHERE n.owner_id = c.owner_id ORDER BY n.id LIMIT 10
          ) first), false)
      FROM notification_counts c WHERE c.owner_id > \(after ?? 0) ORDER BY c.owner_id LIMIT \(sizes.ownersPage)
      """
    ).decode(Int.self, Bool.self)
    try await transaction.enqueue(owners.filter(\.1).map { NotificationTrim(owner: $0.0) })
    if owners.count == sizes.ownersPage, let last = owners.last {
      try await transaction.enqueue(NotificationRetention(after: last.0))
    }
  }
}

/// Deletes an owner's notifications that are older than 6 months or not among the newest 2,000, a few thousand per job.
public struct NotificationTrim: Job {
  public static let kind: JobKind = "notifications.trim"
  public static let queue = SocialJobs.notificationQueue

  public var owner: Int

  public init(owner: Int) { self.owner = owner }

  func run(in transaction: AppTransaction) async throws {
    let sizes = NotificationSizes.current
    let trimmed = try await transaction.sql.query(
      """
      SELECT trim_notifications(\(owner), \(sizes.kept), now() - make_interval(months => \(Int32(sizes.months))),
        \(sizes.budget))
      """)[0].decode(Int.self)
    if trimmed >= sizes.budget { try await transaction.enqueue(self) }
  }
}
