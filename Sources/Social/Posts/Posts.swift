import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Makes, finds, changes and deletes posts.
public enum Posts {
  /// Posts, and owes the fan-out to the author's followers.
  ///
  /// - Returns: the post's id.
  /// - Throws: `invalid_media`, `broken_media`.
  public static func create(_ draft: PostDraft, by author: Int, in transaction: AppTransaction) async throws -> Int {
    let shown = try await MediaUse(draft.media, of: author, as: "media", in: transaction.sql)
    let answers = try await transaction.sql.pipeline([
      "SELECT pg_advisory_xact_lock(posts_lock(\(author)))",
      // The periodic job makes partitions a week ahead. Should it not have run for that long, a post makes its own.
      """
      SELECT CASE WHEN to_regclass('following_user_posts_' || to_char((now() + interval '1 day') AT TIME ZONE 'UTC',
        'YYYYMMDD'))
        IS NULL THEN ensure_feed_partitions() END
      """,
      """
      INSERT INTO posts (author_id, title, description, media, media_dimensions)
      VALUES (\(author), \(draft.title), \(draft.description), \(shown.ids), \(shown.dimensions)) RETURNING id
      """,
    ])
    let id = try answers[2][0].decode(Int.self)
    try await transaction.enqueue(PostFanOut(post: id, author: author))
    return id
  }

  /// - Throws: `not_found`.
  public static func post(_ id: Int, seenBy viewer: Int, in reader: some SocialReader) async throws -> Post {
    let rows = try await reader.rows(
      """
      SELECT \(unescaped: Post.columns), \(unescaped: Likes.isLiked) \(viewer))
      FROM posts p JOIN accounts a ON a.id = p.author_id WHERE p.id = \(id)
      """)
    guard let row = rows.first else { throw SocialError.notFound("post") }
    return try Post(row: row, seenBy: viewer)
  }

  /// A page of an author's posts, newest first.
  public static func posts(
    of author: Int, seenBy viewer: Int, _ page: PageRequest, in reader: some SocialReader
  ) async throws -> Page<Post> {
    let rows = try await reader.rows(
      """
      SELECT \(unescaped: Post.columns), \(unescaped: Likes.isLiked) \(viewer))
      FROM posts p JOIN accounts a ON a.id = p.author_id
      WHERE p.author_id = \(author) AND p.id < \(page.cursor) ORDER BY p.id DESC LIMIT \(page.limit + 1)
      """)
    return Page(try rows.map { try Post(row: $0, seenBy: viewer) }, limit: page.limit, cursor: \.id)
  }

  /// - Throws: `not_found`, `not_yours`, `invalid_media`, `broken_media`.
  public static func edit(_ id: Int, _ changes: PostChanges, by account: Int, in transaction: PostgresTransaction)
    async throws
  {
    try await checkAuthor(of: id, is: account, in: transaction)
    let shown: MediaUse? =
      if let media = changes.media {
        try await MediaUse(media, of: account, as: "media", in: transaction)
      } else {
        nil
      }
    // A post whose pictures are replaced shows them, and not the address of an earlier one.
    let touched = try await transaction.execute(
      """
      UPDATE posts SET title = coalesce(\(changes.title), title),
        description = coalesce(\(changes.description), description),
        media = coalesce(\(shown?.ids), media), media_dimensions = coalesce(\(shown?.dimensions), media_dimensions),
        image = CASE WHEN \(shown == nil) THEN image END, edited_at = now()
      WHERE id = \(id)
      """)
    guard touched == 1 else { throw SocialError.notFound("post") }
  }

  /// Deletes a post, and owes taking it out of the feeds, and its likes, comments and notifications away.
  ///
  /// - Throws: `not_found`, `not_yours`.
  public static func delete(_ id: Int, by account: Int, in transaction: AppTransaction) async throws {
    try await checkAuthor(of: id, is: account, in: transaction.sql)
    let answers = try await transaction.sql.pipeline([
      "SELECT pg_advisory_xact_lock(posts_lock(\(account)))",
      // Whoever likes or comments right now is through after this, and the next one finds no post.
      "SELECT pg_advisory_xact_lock(post_lock(\(id)))",
      // Waits for the chunks that are putting the post into feeds right now: they hold its row.
      """
      WITH gone AS (DELETE FROM posts WHERE id = \(id) RETURNING id, author_id)
      INSERT INTO deleted_posts (id, author_id) SELECT id, author_id FROM gone
      """,
      "DELETE FROM fan_outs WHERE post_id = \(id)",
    ])
    guard answers[2].affected == 1 else { throw SocialError.notFound("post") }
    try await transaction.enqueue(RemovePostFromFeeds(post: id, author: account))
    try await transaction.enqueue(DeletePostReactions(post: id, author: account))
  }

  private static func checkAuthor(of id: Int, is account: Int, in transaction: PostgresTransaction) async throws {
    let authors = try await transaction.query("SELECT author_id FROM posts WHERE id = \(id)").decode(Int.self)
    guard let author = authors.first else { throw SocialError.notFound("post") }
    guard author == account else { throw SocialError(.notYours, "the post is somebody else's") }
  }
}
