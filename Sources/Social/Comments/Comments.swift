import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Creates, lists and deletes comments. `migrations/0010_notifications.sql` describes how the post's author is
/// notified.
public enum Comments {
  /// A new comment as the data of an event. Its subject is the post, so that it comes after the post's own.
  private static let shown = """
    jsonb_build_object('comment', jsonb_build_object('id', id, 'postId', post_id,
      'author', webhook_account(account_id), 'text', text, 'createdAt', webhook_time(created_at)))
    """

  /// Comments on a post, and enqueues the notification of its author.
  ///
  /// - Returns: the comment's id.
  /// - Throws: `not_found` if the post does not exist.
  public static func create(
    _ draft: CommentDraft, on post: Int, by account: Int, in transaction: AppTransaction
  ) async throws -> Int {
    let answers = try await transaction.sql.pipeline([
      "SELECT pg_advisory_xact_lock_shared(post_lock(\(post)))",
      """
      WITH found AS (
        SELECT id, author_id FROM posts p WHERE id = \(post) AND \(Visibility.seesPost(account))
      ), added AS (
        INSERT INTO comments (post_id, account_id, text)
        SELECT found.id, a.id, \(draft.text) FROM found, accounts a WHERE a.id = \(account) RETURNING *
      ), \(WebhookEvents.hooked(
        .commentCreated, about: "'post/' || post_id", shown, account: "account_id", from: "added"))
      SELECT author_id, added.id, \(WebhookEvents.isHooked) FROM found, added
      """,
    ])
    guard let (author, id, isHooked) = try answers[1].decode(Int.self, Int.self, Bool.self).first else {
      throw SocialError.notFound("post")
    }
    try await WebhookEvents.dispatch(isHooked, in: transaction)
    try await NotificationUpdate(comment: id, on: post, by: account, to: author).enqueue(in: transaction)
    return id
  }

  /// - Throws: `not_found`.
  public static func comment(
    _ id: Int, on post: Int, seenBy viewer: Int, in reader: some SocialReader
  ) async throws -> Comment {
    let rows = try await reader.rows(
      """
      SELECT \(unescaped: Comment.columns) FROM comments c JOIN posts p ON p.id = c.post_id
      JOIN accounts a ON a.id = c.account_id
      WHERE c.post_id = \(post) AND c.id = \(id) AND \(Visibility.seesPost(viewer)) AND \(Visibility.showsComment(viewer))
      """)
    guard let row = rows.first else { throw SocialError.notFound("comment") }
    return try Comment(row: row)
  }

  /// The order of a post's comments.
  public enum Order: String, Sendable, CaseIterable {
    case newest
    case oldest
  }

  /// A page of a post's comments.
  ///
  /// - Throws: `not_found` if the post does not exist.
  public static func comments(
    on post: Int, seenBy viewer: Int, _ order: Order = .newest, _ page: PageRequest, in reader: some SocialReader
  ) async throws -> Page<Comment> {
    // In both orders the cursor is the id of the last comment shown.
    let start = order == .newest ? page.cursor : page.before ?? 0
    let list = try await Page.filled(from: start, limit: page.limit) { cursor, count in
      let (window, direction): (PostgresQuery, String) =
        switch order {
        case .newest: ("id < \(cursor) ORDER BY id DESC LIMIT \(count)", "DESC")
        case .oldest: ("id > \(cursor) ORDER BY id LIMIT \(count)", "")
        }
      return try await reader.rows(
        """
        SELECT \(unescaped: Comment.columns), \(Visibility.showsComment(viewer))
        FROM (SELECT id, author_id FROM posts p WHERE id = \(post) AND \(Visibility.seesPost(viewer))) p
        CROSS JOIN LATERAL (SELECT * FROM comments WHERE post_id = p.id AND \(window)) c
        LEFT JOIN accounts a ON a.id = c.account_id ORDER BY c.id \(unescaped: direction)
        """
      ).map { row in
        let isShown = try !row[3].isNull && Bool(postgres: row[row.count - 1])
        return (try Int(postgres: row[0]), isShown ? try Comment(row: row) : nil)
      }
    }
    if list.items.isEmpty, list.next == nil { try await Posts.check(post, seenBy: viewer, in: reader) }
    return list
  }

  /// Deletes a comment, as its author or the post's author, and enqueues the removal of its notification.
  ///
  /// - Throws: `not_found`, `not_yours`.
  public static func delete(
    _ id: Int, on post: Int, by account: Int, in transaction: AppTransaction
  ) async throws {
    let rows = try await transaction.sql.query(
      """
      SELECT c.account_id, p.author_id FROM comments c JOIN posts p ON p.id = c.post_id
      WHERE c.post_id = \(post) AND c.id = \(id)
      """
    ).decode(Int.self, Int.self)
    guard let (writer, author) = rows.first else { throw SocialError.notFound("comment") }
    guard account == writer || account == author else {
      throw SocialError(.notYours, "neither the comment nor the post is yours")
    }
    let gone = try await transaction.sql.query(
      """
      WITH gone AS (DELETE FROM comments WHERE post_id = \(post) AND id = \(id) RETURNING post_id, id), \(
        WebhookEvents.hooked(
          .commentDeleted, about: "'post/' || post_id",
          "jsonb_build_object('comment', jsonb_build_object('id', id, 'postId', post_id))", from: "gone"))
      SELECT \(WebhookEvents.isHooked) FROM gone
      """
    ).decode(Bool.self)
    guard let isHooked = gone.first else { throw SocialError.notFound("comment") }
    try await WebhookEvents.dispatch(isHooked, in: transaction)
    try await NotificationUpdate(comment: id, on: post, by: writer, to: author).enqueue(in: transaction)
  }
}
