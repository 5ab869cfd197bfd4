import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Rechecks a like, a comment or a follow, and updates its notification to match: creates, deletes or recreates it.
///
/// The job names what to check, not what to write, so jobs may run in any order and more than once.
/// `migrations/0010_notifications.sql` describes how they are ordered.
public struct NotificationUpdate: Job, Hashable {
  public static let kind: JobKind = "notifications.update"
  public static let queue = SocialJobs.notificationQueue

  /// The notified account: the author of the post, or the followee.
  public var owner: Int
  public var type: NotificationType
  /// The account that acted.
  public var actor: Int
  public var post: Int?
  public var comment: Int?

  public init(like post: Int, by actor: Int, to owner: Int) {
    (self.owner, type, self.actor, self.post) = (owner, .like, actor, post)
  }

  public init(comment: Int, on post: Int, by actor: Int, to owner: Int) {
    (self.owner, type, self.actor, self.post, self.comment) = (owner, .comment, actor, post, comment)
  }

  public init(followOf owner: Int, by actor: Int) {
    (self.owner, type, self.actor) = (owner, .follow, actor)
  }

  /// Enqueues the update in the transaction of the change. No account is notified of its own actions, but clients that
  /// have the post open are notified of its author's comments and likes too.
  func enqueue(in transaction: AppTransaction) async throws { try await transaction.enqueue(self) }

  /// How many updates one statement handles. Measured with 1,000,000 existing notifications of 1,000 owners: 2,000 take
  /// the server 47 ms and 1,000 take 31 ms, since each batch locks and counts an owner once.
  static let batchLimit = 2000

  @Sendable
  static func run(_ batch: [BatchedJob<NotificationUpdate>], in transaction: AppTransaction) async throws {
    try await run(batch.map(\.job), in: transaction)
  }

  static func run(_ updates: [NotificationUpdate], in transaction: AppTransaction) async throws {
    let asked = Array(Set(updates))
    let crowded = try await transaction.sql.query(
      """
      SELECT * FROM update_notifications(\(asked.map(\.owner)), \(asked.map(\.type.rawValue)),
        \(asked.map { $0.post ?? 0 }), \(asked.map(\.actor)), \(asked.map { $0.comment ?? 0 }),
        \(2 * NotificationSizes.current.kept))
      """
    ).decode(Int.self)
    try await transaction.enqueue(crowded.map { NotificationTrim(owner: $0) })
    try await LiveTopic.notify(Set(asked.flatMap(\.topics)), in: transaction.sql)
    // The last statement: other transactions that log comments wait from here to the commit.
    let comments = asked.filter { $0.type == .comment }
    if !comments.isEmpty {
      try await transaction.sql.execute(
        "SELECT log_comments(\(comments.map { $0.post ?? 0 }), \(comments.map { $0.comment ?? 0 }))")
    }
  }

  /// The topics that listeners read again.
  private var topics: [LiveTopic] {
    var topics: [LiveTopic] = owner == actor ? [] : [.notifications(of: owner)]
    // Listeners of a thread count its comments themselves.
    if let post { topics.append(type == .comment ? .thread(post) : .counts(of: post)) }
    return topics
  }
}
