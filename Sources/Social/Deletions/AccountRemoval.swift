import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Removes the rows that a deleted account left, one batch per job, in an order in which no removed row can reappear.
///
/// Each job removes a batch from the first kind of rows that has any left, and enqueues the next job in the same
/// transaction. If a worker is killed, its job resumes where the last one ended.
public struct AccountRemoval: Job {
  public static let kind: JobKind = "accounts.remove"
  public static let queue = SocialJobs.bulkQueue

  public var account: Int

  public init(account: Int) { self.account = account }

  /// How many rows one job removes. Tests set a small number.
  @TaskLocal static var batch = 1000
  /// Posts use a smaller batch: each takes the lock that its likes and comments take, and enqueues two jobs.
  private var postBatch: Int { max(1, Self.batch / 10) }

  /// How long a job waits for others.
  private static let pause = Duration.milliseconds(500)

  private enum Step {
    case more
    /// Other work has to end first.
    case wait
    case done
  }

  func run(in transaction: AppTransaction) async throws {
    switch try await step(in: transaction) {
    case .more: try await transaction.enqueue(self)
    case .wait: try await transaction.enqueue(self, options: JobOptions(delay: Self.pause))
    case .done:
      try await transaction.sql.execute(
        "DELETE FROM hidden_accounts WHERE account_id = \(account) AND is_deleted")
    }
  }

  private func step(in transaction: AppTransaction) async throws -> Step {
    let sql = transaction.sql
    guard try await sql.query("SELECT has_no_writers(\(account))")[0].decode(Bool.self) else { return .wait }
    if try await Posts.deleteLatest(postBatch, of: account, in: transaction) > 0 { return .more }
    if try await removeLikes(in: transaction) { return .more }
    if try await removeComments(in: transaction) { return .more }
    if try await removeFollows(in: transaction) { return .more }
    if try await removeFollowNotices(in: transaction) { return .more }
    if try await removeCelebs(in: transaction) { return .more }
    if try await removeRestrictions(in: transaction) { return .more }
    for batch in batches {
      let removed = try await sql.execute(batch)
      if removed > 0 { return .more }
    }
    if try await removePictures(in: transaction) { return .more }
    // The jobs that remove posts from feeds iterate over the author's followers.
    let hasPosts = try await sql.query(
      "SELECT EXISTS (SELECT FROM deleted_posts WHERE author_id = \(account))")[0].decode(Bool.self)
    if hasPosts { return .wait }
    let followers = try await sql.execute(
      """
      DELETE FROM follows WHERE followee_id = \(account) AND follower_id = ANY (ARRAY(
        SELECT follower_id FROM follows WHERE followee_id = \(account) ORDER BY follower_id LIMIT \(Self.batch)))
      """)
    return followers > 0 ? .more : .done
  }

  private func removeLikes(in transaction: AppTransaction) async throws -> Bool {
    let gone = try await transaction.sql.query(
      """
      WITH gone AS (
        DELETE FROM likes WHERE account_id = \(account) AND id = ANY (ARRAY(
          SELECT id FROM likes WHERE account_id = \(account) ORDER BY id DESC LIMIT \(Self.batch)))
        RETURNING post_id
      )
      SELECT gone.post_id, p.author_id FROM gone LEFT JOIN posts p ON p.id = gone.post_id AND p.author_id <> \(account)
      """
    ).decode(Int.self, Int?.self)
    // A deleted post's notifications are deleted with it.
    try await transaction.enqueue(
      gone.compactMap { post, author in author.map { NotificationUpdate(like: post, by: account, to: $0) } })
    return !gone.isEmpty
  }

  private func removeComments(in transaction: AppTransaction) async throws -> Bool {
    let gone = try await transaction.sql.query(
      """
      WITH gone AS (
        DELETE FROM comments USING (
          SELECT post_id AS post, id AS comment FROM comments WHERE account_id = \(account)
          ORDER BY post_id, id LIMIT \(Self.batch)
        ) old WHERE post_id = post AND id = comment RETURNING post_id, id
      )
      SELECT gone.post_id, gone.id, p.author_id FROM gone
      LEFT JOIN posts p ON p.id = gone.post_id AND p.author_id <> \(account)
      """
    ).decode(Int.self, Int.self, Int?.self)
    try await transaction.enqueue(
      gone.compactMap { post, id, author in
        author.map { NotificationUpdate(comment: id, on: post, by: account, to: $0) }
      })
    return !gone.isEmpty
  }

  /// Removes the account's follows. A later step removes the feed entries that they brought.
  private func removeFollows(in transaction: AppTransaction) async throws -> Bool {
    let followees = try await transaction.sql.query(
      """
      SELECT followee_id FROM follows WHERE follower_id = \(account) ORDER BY followee_id LIMIT \(Self.batch)
      """
    ).decode(Int.self)
    if followees.isEmpty { return false }
    try await transaction.sql.pipeline([
      // Fan-out chunks that are writing to the feed finish first; later ones find no follow.
      "SELECT pg_advisory_xact_lock(feed_lock(id, \(account))) FROM unnest(\(followees)) AS id",
      "DELETE FROM follows WHERE follower_id = \(account) AND followee_id = ANY (\(followees))",
    ])
    try await transaction.enqueue(followees.map { NotificationUpdate(followOf: $0, by: account) })
    return true
  }

  private func removeCelebs(in transaction: AppTransaction) async throws -> Bool {
    let gone = try await transaction.sql.query(
      """
      SELECT removed.celeb, to_microseconds(removed.registered_at), to_microseconds(removed.removed_at) FROM (
        SELECT c.platform, c.account FROM celeb_fans f JOIN celebs c ON c.id = f.celeb_id
        WHERE f.account_id = \(account) AND f.since IS NOT NULL ORDER BY c.id LIMIT \(Self.batch)
      ) own CROSS JOIN LATERAL remove_celeb(\(account), own.platform, own.account, NULL) removed
      WHERE removed.celeb IS NOT NULL
      """
    ).decode(Int.self, Int.self, Int.self)
    try await transaction.enqueue(
      gone.map { celeb, since, at in FanCount(celeb: celeb, fan: account, since: since, change: -1, at: at) })
    return !gone.isEmpty
  }

  /// Removes follow notifications that others have checked, which outlive the follow.
  private func removeFollowNotices(in transaction: AppTransaction) async throws -> Bool {
    let noted = try await transaction.sql.query(
      """
      SELECT owner_id, id FROM notifications WHERE type = 2 AND actor_id = \(account) ORDER BY owner_id LIMIT \(Self.batch)
      """
    ).decode(Int.self, Int.self)
    if noted.isEmpty { return false }
    let owners = noted.map(\.0)
    try await transaction.sql.pipeline([
      "SELECT lock_notification_owners(\(owners))",
      """
      DELETE FROM notifications WHERE (owner_id, id) IN (SELECT * FROM unnest(\(owners), \(noted.map(\.1))))
      """,
    ])
    return true
  }

  /// Removes others' blocks and mutes of the account, and before a block the conversation that it hides, which would
  /// reappear.
  private func removeRestrictions(in transaction: AppTransaction) async throws -> Bool {
    let sql = transaction.sql
    let rows = try await sql.query(
      """
      SELECT account_id, blocked_at IS NOT NULL FROM restrictions WHERE other_id = \(account)
      ORDER BY account_id LIMIT \(Self.batch)
      """
    ).decode(Int.self, Bool.self)
    if rows.isEmpty { return false }
    let hiders = rows.filter(\.1).map(\.0)
    let messages = try await sql.execute(
      """
      DELETE FROM messages USING (
        SELECT owner_id AS owner, id AS message FROM messages
        WHERE owner_id = ANY (\(hiders)) AND peer_id = \(account) ORDER BY owner_id, id LIMIT \(Self.batch)
      ) old WHERE owner_id = owner AND peer_id = \(account) AND id = message
      """)
    if messages > 0 { return true }
    try await sql.pipeline([
      "SELECT FROM inboxes WHERE owner_id = ANY (\(hiders)) ORDER BY owner_id FOR NO KEY UPDATE",
      """
      WITH gone AS (
        DELETE FROM conversations WHERE owner_id = ANY (\(hiders)) AND peer_id = \(account) RETURNING owner_id, unread)
      UPDATE inboxes SET unread = inboxes.unread - gone.unread FROM gone WHERE inboxes.owner_id = gone.owner_id
      """,
      "DELETE FROM restrictions WHERE other_id = \(account) AND account_id = ANY (\(rows.map(\.0)))",
    ])
    return true
  }

  private func removePictures(in transaction: AppTransaction) async throws -> Bool {
    let pictures = try await transaction.sql.query(
      "SELECT id FROM media WHERE owner_id = \(account) ORDER BY id LIMIT \(Self.batch)"
    ).decode(String.self)
    if pictures.isEmpty { return false }
    try await transaction.sql.execute(MediaLibrary.lock(account))
    try await MediaLibrary.lockFiles(of: pictures, in: transaction.sql)
    try await transaction.sql.execute("DELETE FROM media WHERE id = ANY (\(pictures))")
    try await transaction.enqueue(MediaRemoval())
    return true
  }

  /// Rows that belong only to the account and that no count includes.
  private var batches: [PostgresQuery] {
    let limit = Self.batch
    return [
      """
      DELETE FROM following_user_posts WHERE user_id = \(account) AND post_id = ANY (ARRAY(
        SELECT post_id FROM following_user_posts WHERE user_id = \(account) ORDER BY post_id DESC LIMIT \(limit)))
      """,
      """
      DELETE FROM notifications WHERE owner_id = \(account) AND id = ANY (ARRAY(
        SELECT id FROM notifications WHERE owner_id = \(account) ORDER BY id LIMIT \(limit)))
      """,
      "DELETE FROM notification_counts WHERE owner_id = \(account)",
      """
      DELETE FROM messages USING (
        SELECT peer_id AS peer, id AS message FROM messages WHERE owner_id = \(account)
        ORDER BY peer_id, id LIMIT \(limit)
      ) old WHERE owner_id = \(account) AND peer_id = peer AND id = message
      """,
      "DELETE FROM conversations WHERE owner_id = \(account)",
      "DELETE FROM inboxes WHERE owner_id = \(account)",
      "DELETE FROM celeb_fans WHERE account_id = \(account)",
      "DELETE FROM restrictions WHERE account_id = \(account)",
      """
      DELETE FROM reports WHERE id = ANY (ARRAY(
        SELECT id FROM reports WHERE reporter_id = \(account) OR account_id = \(account) LIMIT \(limit)))
      """,
      "DELETE FROM takedowns WHERE account_id = \(account)",
      "DELETE FROM notices WHERE account_id = \(account)",
      "DELETE FROM lookup_followers WHERE account_id = \(account)",
      "DELETE FROM certificate_cards WHERE account_id = \(account)",
      """
      WITH gone AS (DELETE FROM account_exports WHERE account_id = \(account) RETURNING file_id)
      INSERT INTO media_removals (file_id) SELECT file_id FROM gone WHERE file_id IS NOT NULL ON CONFLICT DO NOTHING
      """,
      "DELETE FROM purchase_tokens WHERE account_id = \(account)",
      // A receipt grants only once, so its row outlives the account.
      "UPDATE purchases SET account_id = 0 WHERE account_id = \(account)",
      "DELETE FROM agreement_meetings WHERE \(account) IN (host_id, joiner_id)",
      "DELETE FROM agreement_copies WHERE account_id = \(account)",
      // The other party keeps its copy.
      "UPDATE agreements SET host_id = 0 WHERE host_id = \(account)",
      "UPDATE agreements SET joiner_id = 0 WHERE joiner_id = \(account)",
      "DELETE FROM agreement_backups WHERE account_id = \(account)",
      // The events stay, without what they showed, so that receivers miss none of a subject.
      """
      UPDATE webhook_events SET data = '{"isErased": true}', account_id = 0, other_id = 0 WHERE id = ANY (ARRAY(
        SELECT id FROM webhook_events WHERE account_id = \(account) ORDER BY id LIMIT \(limit)))
      """,
      """
      UPDATE webhook_events SET data = '{"isErased": true}', account_id = 0, other_id = 0 WHERE id = ANY (ARRAY(
        SELECT id FROM webhook_events WHERE other_id = \(account) ORDER BY id LIMIT \(limit)))
      """,
      "DELETE FROM feed_readers WHERE account_id = \(account)",
      "DELETE FROM feed_sleepers WHERE account_id = \(account)",
      "DELETE FROM pulled_authors WHERE author_id = \(account)",
      "DELETE FROM idempotency_keys WHERE account_id = \(account)",
      "DELETE FROM media_quotas WHERE account_id = \(account) AND files = 0",
    ]
  }
}
