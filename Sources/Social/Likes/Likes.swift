import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Likes of posts. What tells the author of them is described in `migrations/0010_notifications.sql`.
public enum Likes {
  /// Whether a viewer likes a post `p`: what stands before the viewer's parameter, and a parenthesis after it.
  static let isLiked = "EXISTS (SELECT FROM likes mine WHERE mine.post_id = p.id AND mine.account_id ="

  /// Makes `account` like a post, and owes telling its author.
  ///
  /// - Returns: whether it is new; an old like is left as it is.
  /// - Throws: `not_found`.
  @discardableResult
  public static func like(_ post: Int, by account: Int, in transaction: AppTransaction) async throws -> Bool {
    let answers = try await transaction.sql.pipeline([
      "SELECT pg_advisory_xact_lock_shared(post_lock(\(post)))",
      """
      WITH found AS (SELECT id, author_id FROM posts WHERE id = \(post)), added AS (
        INSERT INTO likes (post_id, account_id)
        SELECT found.id, a.id FROM found, accounts a WHERE a.id = \(account)
        ON CONFLICT DO NOTHING RETURNING 1
      )
      SELECT author_id, EXISTS (SELECT FROM added) FROM found
      """,
    ])
    return try await changed(answers[1], post, by: account, in: transaction)
  }

  /// Takes a like back, and owes taking back what the author was told.
  ///
  /// - Returns: whether there was one.
  /// - Throws: `not_found` if there is no such post.
  @discardableResult
  public static func unlike(_ post: Int, by account: Int, in transaction: AppTransaction) async throws -> Bool {
    let answer = try await transaction.sql.query(
      """
      WITH found AS (SELECT id, author_id FROM posts WHERE id = \(post)), gone AS (
        DELETE FROM likes USING found WHERE post_id = found.id AND account_id = \(account) RETURNING 1
      )
      SELECT author_id, EXISTS (SELECT FROM gone) FROM found
      """)
    return try await changed(answer, post, by: account, in: transaction)
  }

  /// A page of the posts that `account` likes, the latest liked first. The cursor is a number that grows with each
  /// like.
  public static func posts(likedBy account: Int, _ page: PageRequest, in reader: some SocialReader) async throws
    -> Page<Post>
  {
    let rows = try await reader.rows(
      """
      SELECT \(unescaped: Post.columns), true, l.id FROM likes l
      JOIN posts p ON p.id = l.post_id JOIN accounts a ON a.id = p.author_id
      WHERE l.account_id = \(account) AND l.id < \(page.cursor) ORDER BY l.id DESC LIMIT \(page.limit + 1)
      """)
    let liked = try rows.map { row in
      (post: try Post(row: row, seenBy: account), like: try Int(postgres: row[row.count - 1]))
    }
    let list = Page(liked, limit: page.limit, cursor: \.like)
    return Page(items: list.items.map(\.post), next: list.next)
  }

  private static func changed(
    _ answer: PostgresRows, _ post: Int, by account: Int, in transaction: AppTransaction
  ) async throws -> Bool {
    guard let (author, isChanged) = try answer.decode(Int.self, Bool.self).first else {
      throw SocialError.notFound("post")
    }
    if isChanged { try await NotificationUpdate(like: post, by: account, to: author).owe(in: transaction) }
    return isChanged
  }
}
