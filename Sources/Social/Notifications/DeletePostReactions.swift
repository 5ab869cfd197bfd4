import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Deletes the likes and comments of a deleted post and their notifications, a few thousand per job.
public struct DeletePostReactions: Job {
  public static let kind: JobKind = "notifications.sweep-post"
  public static let queue = SocialJobs.notificationQueue

  public var post: Int
  public var author: Int

  public init(post: Int, author: Int) {
    self.post = post
    self.author = author
  }

  func run(in transaction: AppTransaction) async throws {
    let isMoreLeft = try await transaction.sql.query(
      "SELECT sweep_post(\(post), \(author), \(NotificationSizes.current.budget))")[0].decode(Bool.self)
    if isMoreLeft { try await transaction.enqueue(self) }
  }
}
