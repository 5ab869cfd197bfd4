import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Makes, lists and deletes comments. What tells a post's author of them is described in
/// `migrations/0010_notifications.sql`.
public enum Comments {
  /// Comments on a post, and owes telling its author.
  ///
  /// - Returns: the comment's id.
  /// - Throws: `not_found` if there is no such post.
  public static func create(
    _ draft: CommentDraft, on post: Int, by account: Int, in transaction: AppTransaction
  ) async throws -> Int {
    let answers = try await transaction.sql.pipeline([
      "SELECT pg_advisory_xact_lock_shared(post_lock(\(post)))",
      """
      WITH found AS (SELECT id, author_id FROM posts WHERE id = \(post)), added AS (
        INSERT INTO comments (post_id, account_id, text)
        SELECT found.id, a.id, \(draft.text) FROM found, accounts a WHERE a.id = \(account) RETURNING id
      )
      SELECT author_id, added.id FROM found, added
      """,
    ])
    guard let (author, id) = try answers[1].decode(Int.self, Int.self).first else {
      throw SocialError.notFound("post")
    }
    try await NotificationUpdate(comment: id, on: post, by: account, to: author).owe(in: transaction)
    return id
  }

  /// - Throws: `not_found`.
  public static func comment(_ id: Int, on post: Int, in reader: some SocialReader) async throws -> Comment {
    let rows = try await reader.rows(
      """
      SELECT \(unescaped: Comment.columns) FROM comments c JOIN posts p ON p.id = c.post_id
      JOIN accounts a ON a.id = c.account_id WHERE c.post_id = \(post) AND c.id = \(id)
      """)
    guard let row = rows.first else { throw SocialError.notFound("comment") }
    return try Comment(row: row)
  }

  /// Which of a post's comments come first.
  public enum Order: String, Sendable, CaseIterable {
    case newest
    case oldest
  }

  /// A page of what was said to a post.
  ///
  /// - Throws: `not_found` if there is no such post.
  public static func comments(
    on post: Int, _ order: Order = .newest, _ page: PageRequest, in reader: some SocialReader
  ) async throws -> Page<Comment> {
    // In either order the cursor is the id of the last comment that was shown.
    let rows =
      switch order {
      case .newest:
        try await reader.rows(
          """
          SELECT \(unescaped: Comment.columns) FROM posts p JOIN comments c ON c.post_id = p.id
          JOIN accounts a ON a.id = c.account_id
          WHERE p.id = \(post) AND c.id < \(page.cursor) ORDER BY c.id DESC LIMIT \(page.limit + 1)
          """)
      case .oldest:
        try await reader.rows(
          """
          SELECT \(unescaped: Comment.columns) FROM posts p JOIN comments c ON c.post_id = p.id
          JOIN accounts a ON a.id = c.account_id
          WHERE p.id = \(post) AND c.id > \(page.before ?? 0) ORDER BY c.id LIMIT \(page.limit + 1)
          """)
      }
    if rows.isEmpty, try await reader.rows("SELECT FROM posts WHERE id = \(post)").isEmpty {
      throw SocialError.notFound("post")
    }
    return Page(try rows.map { try Comment(row: $0) }, limit: page.limit, cursor: \.id)
  }

  /// Deletes a comment, which its author may and the post's, and owes taking back what the post's author was told.
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
      throw SocialError(.notYours, "the comment is somebody else's, and so is the post")
    }
    let gone = try await transaction.sql.execute("DELETE FROM comments WHERE post_id = \(post) AND id = \(id)")
    guard gone == 1 else { throw SocialError.notFound("comment") }
    try await NotificationUpdate(comment: id, on: post, by: writer, to: author).owe(in: transaction)
  }
}
