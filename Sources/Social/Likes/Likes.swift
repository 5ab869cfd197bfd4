import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Creates, removes and lists likes. `migrations/0010_notifications.sql` describes how the post's author is notified.
public enum Likes {
  /// Whether a viewer likes a post `p`.
  static func isLiked(by viewer: Int) -> PostgresQuery { isLiked(by: "\(viewer)") }

  /// - Parameter viewer: an expression.
  ///
  /// Without the OFFSET, Postgres may read all of the viewer's likes instead of one per post.
  static func isLiked(by viewer: PostgresQuery) -> PostgresQuery {
    "EXISTS (SELECT FROM likes mine WHERE mine.post_id = p.id AND mine.account_id = \(viewer) OFFSET 0)"
  }

  /// The post, if `account` may like it, as the table `found` of a statement.
  private static func found(_ post: Int, by account: Int) -> PostgresQuery {
    "found AS (SELECT id, author_id FROM posts p WHERE id = \(post) AND \(Visibility.seesPost(account)))"
  }

  /// The event of a like that is made or removed; its subject is the like.
  private static func event(
    _ type: WebhookEventType, _ liker: String, account: String = "0", from source: String
  ) -> PostgresQuery {
    WebhookEvents.hooked(
      type, about: "'like/' || post_id || '/' || account_id",
      "jsonb_build_object('like', jsonb_build_object('postId', post_id, 'account', \(liker)))", account: account,
      from: source)
  }

  /// Makes `account` like a post, and enqueues the notification of its author.
  ///
  /// - Returns: whether the like is new; an existing one is unchanged.
  /// - Throws: `not_found`.
  @discardableResult
  public static func like(_ post: Int, by account: Int, in transaction: AppTransaction) async throws -> Bool {
    let answers = try await transaction.sql.pipeline([
      "SELECT pg_advisory_xact_lock_shared(post_lock(\(post)))",
      """
      WITH \(found(post, by: account)), added AS (
        INSERT INTO likes (post_id, account_id)
        SELECT found.id, a.id FROM found, accounts a WHERE a.id = \(account)
        ON CONFLICT DO NOTHING RETURNING post_id, account_id
      ), \(event(.likeCreated, "webhook_account(account_id)", account: "account_id", from: "added"))
      SELECT author_id, EXISTS (SELECT FROM added), \(WebhookEvents.isHooked) FROM found
      """,
    ])
    return try await changed(answers[1], post, by: account, in: transaction)
  }

  /// Removes a like, and enqueues the removal of its notification.
  ///
  /// - Returns: whether there was a like.
  /// - Throws: `not_found` if the post does not exist.
  @discardableResult
  public static func unlike(_ post: Int, by account: Int, in transaction: AppTransaction) async throws -> Bool {
    let answer = try await transaction.sql.query(
      """
      WITH \(found(post, by: account)), gone AS (
        DELETE FROM likes USING found WHERE post_id = found.id AND account_id = \(account)
        RETURNING post_id, account_id
      ), \(event(.likeDeleted, WebhookEvents.bare("account_id"), from: "gone"))
      SELECT author_id, EXISTS (SELECT FROM gone), \(WebhookEvents.isHooked) FROM found
      """)
    return try await changed(answer, post, by: account, in: transaction)
  }

  /// A page of the posts that `account` likes, most recently liked first. The cursor is a number that grows with each
  /// like.
  public static func posts(likedBy account: Int, _ page: PageRequest, in reader: some SocialReader) async throws
    -> Page<Post>
  {
    try await Page.filled(from: page.cursor, limit: page.limit) { cursor, count in
      try await reader.rows(
        """
        SELECT \(unescaped: Post.columns), true, \(Visibility.seesPost(account)), l.id FROM (
          SELECT id, post_id FROM likes WHERE account_id = \(account) AND id < \(cursor) ORDER BY id DESC LIMIT \(count)
        ) l
        LEFT JOIN posts p ON p.id = l.post_id LEFT JOIN accounts a ON a.id = p.author_id ORDER BY l.id DESC
        """
      ).map { try Post.listed(row: $0, seenBy: account) }
    }
  }

  private static func changed(
    _ answer: PostgresRows, _ post: Int, by account: Int, in transaction: AppTransaction
  ) async throws -> Bool {
    guard let (author, isChanged, isHooked) = try answer.decode(Int.self, Bool.self, Bool.self).first else {
      throw SocialError.notFound("post")
    }
    try await WebhookEvents.dispatch(isHooked, in: transaction)
    if isChanged { try await NotificationUpdate(like: post, by: account, to: author).enqueue(in: transaction) }
    return isChanged
  }
}
