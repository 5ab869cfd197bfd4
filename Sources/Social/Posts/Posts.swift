import DurableJobs
import DurableJobsPostgres
import LibPQClient

/// Creates, reads, edits and deletes posts.
public enum Posts {
  /// The most followers that an author can have for posts to be pushed into their feeds.
  public static let pushLimit = 1_000_000

  /// Creates a post and enqueues its fan-out to the author's followers. Beyond `pushLimit` followers, readers pull the
  /// post instead.
  ///
  /// - Throws: `invalid_media`, `broken_media`; `not_found` if the author's account is deleted.
  @discardableResult
  public static func create(
    _ draft: PostDraft, by author: Int, pushLimit: Int = pushLimit, in transaction: AppTransaction
  ) async throws -> Post {
    if !draft.media.isEmpty { try await transaction.sql.execute(MediaLibrary.lock(author)) }
    let shown = try await MediaUse(draft.media, of: author, as: "media", in: transaction.sql)
    let answers = try await transaction.sql.pipeline([
      // Counting a million followers takes 0.1 s, so it happens before the lock that follows wait for. A follow in
      // between is safe: push and pull both reach it.
      """
      SELECT set_config('fanmill.is_pulled', count(*)::text, true)
      FROM (SELECT FROM follows WHERE followee_id = \(author) OFFSET \(pushLimit) LIMIT 1) past
      """,
      "SELECT pg_advisory_xact_lock(posts_lock(\(author)))",
      // The periodic job creates partitions a week ahead. If it has not run for that long, a post creates them.
      """
      SELECT CASE WHEN to_regclass('following_user_posts_' || to_char((now() + interval '1 day') AT TIME ZONE 'UTC',
        'YYYYMMDD'))
        IS NULL THEN ensure_feed_partitions() END
      """,
      """
      WITH made AS (
        INSERT INTO posts (author_id, title, description, media, media_dimensions, is_pulled)
        SELECT id, \(draft.title), \(draft.description), \(shown.ids), \(shown.dimensions),
          current_setting('fanmill.is_pulled') = '1'
        FROM accounts WHERE id = \(author) RETURNING *, posts AS whole
      ), \(WebhookEvents.hooked(
        .postCreated, about: "'post/' || id", "jsonb_build_object('post', webhook_post(whole))", account: "author_id",
        from: "made")), noted AS (
        INSERT INTO pulled_authors AS noted (author_id, last_post) SELECT author_id, id FROM made WHERE is_pulled
        ON CONFLICT (author_id) DO UPDATE SET last_post = greatest(noted.last_post, excluded.last_post)
      )
      SELECT \(unescaped: Post.columns), \(WebhookEvents.isHooked) FROM made p JOIN accounts a ON a.id = p.author_id
      """,
    ])
    guard let row = answers[3].first else { throw SocialError.notFound("account") }
    let post = try Post(row: row, isLiked: false, seenBy: author)
    try await WebhookEvents.dispatch(try Bool(postgres: row[row.count - 1]), in: transaction)
    try await transaction.enqueue(PostFanOut(post: post.id, author: author))
    return post
  }

  /// - Throws: `not_found`.
  public static func post(_ id: Int, seenBy viewer: Int, in reader: some SocialReader) async throws -> Post {
    let rows = try await reader.rows(
      """
      SELECT \(unescaped: Post.columns), \(Likes.isLiked(by: viewer))
      FROM posts p JOIN accounts a ON a.id = p.author_id WHERE p.id = \(id) AND \(Visibility.seesPost(viewer))
      """)
    guard let row = rows.first else { throw SocialError.notFound("post") }
    return try Post(row: row, seenBy: viewer)
  }

  /// - Throws: `not_found` if the viewer may not see the post.
  static func check(_ id: Int, seenBy viewer: Int, in reader: some SocialReader) async throws {
    let rows = try await reader.rows("SELECT FROM posts p WHERE id = \(id) AND \(Visibility.seesPost(viewer))")
    if rows.isEmpty { throw SocialError.notFound("post") }
  }

  /// A page of an author's posts, newest first. The viewer must be allowed to see the author.
  public static func posts(
    of author: Int, seenBy viewer: Int, _ page: PageRequest, in reader: some SocialReader
  ) async throws -> Page<Post> {
    let rows = try await reader.rows(
      """
      SELECT \(unescaped: Post.columns), \(Likes.isLiked(by: viewer))
      FROM posts p JOIN accounts a ON a.id = p.author_id
      WHERE p.author_id = \(author) AND p.id < \(page.cursor) AND p.taken_down_at IS NULL
      ORDER BY p.id DESC LIMIT \(page.limit + 1)
      """)
    return Page(try rows.map { try Post(row: $0, seenBy: viewer) }, limit: page.limit, cursor: \.id)
  }

  /// - Throws: `not_found`, `not_yours`, `invalid_media`, `broken_media`.
  public static func edit(_ id: Int, _ changes: PostChanges, by account: Int, in transaction: PostgresTransaction)
    async throws
  {
    try await checkAuthor(of: id, is: account, in: transaction)
    if changes.media != nil { try await transaction.execute(MediaLibrary.lock(account)) }
    let shown: MediaUse? =
      if let media = changes.media {
        try await MediaUse(media, of: account, as: "media", in: transaction)
      } else {
        nil
      }
    // Replacing a post's pictures also clears an external address from an earlier version.
    let touched = try await transaction.query(
      """
      WITH edited AS (
        UPDATE posts SET title = coalesce(\(changes.title), title),
          description = coalesce(\(changes.description), description),
          media = coalesce(\(shown?.ids), media), media_dimensions = coalesce(\(shown?.dimensions), media_dimensions),
          image = CASE WHEN \(shown == nil) THEN image END, edited_at = now()
        WHERE id = \(id) RETURNING id, author_id, taken_down_at, posts AS whole
      )
      SELECT CASE WHEN taken_down_at IS NULL THEN \(WebhookEvents.noting(
        .postEdited, about: "'post/' || id", "jsonb_build_object('post', webhook_post(whole))", account: "author_id"))
      END FROM edited
      """)
    guard touched.count == 1 else { throw SocialError.notFound("post") }
  }

  /// Deletes a post, and enqueues the removal of its feed rows, likes, comments and notifications.
  ///
  /// - Throws: `not_found`, `not_yours`.
  public static func delete(_ id: Int, by account: Int, in transaction: AppTransaction) async throws {
    try await checkAuthor(of: id, is: account, in: transaction.sql)
    guard try await remove([id], of: account, in: transaction) == 1 else { throw SocialError.notFound("post") }
  }

  /// Deletes an author's latest posts.
  ///
  /// - Returns: how many, at most `limit`.
  static func deleteLatest(_ limit: Int, of author: Int, in transaction: AppTransaction) async throws -> Int {
    let ids = try await transaction.sql.query(
      "SELECT id FROM posts WHERE author_id = \(author) ORDER BY id DESC LIMIT \(limit)"
    ).decode(Int.self)
    return ids.isEmpty ? 0 : try await remove(ids, of: author, in: transaction)
  }

  private static func remove(_ ids: [Int], of author: Int, in transaction: AppTransaction) async throws -> Int {
    let answers = try await transaction.sql.pipeline([
      MediaLibrary.lock(author),
      "SELECT pg_advisory_xact_lock(posts_lock(\(author)))",
      // Pending likes and comments finish first; later ones find no post.
      "SELECT pg_advisory_xact_lock(post_lock(id)) FROM unnest(\(ids.sorted())) AS id",
      // Waits for fan-out chunks that are delivering the posts, since they lock the rows.
      """
      WITH gone AS (DELETE FROM posts WHERE id = ANY (\(ids)) RETURNING id, author_id, is_pulled), kept AS (
        INSERT INTO deleted_posts (id, author_id) SELECT id, author_id FROM gone WHERE NOT is_pulled
      ), \(WebhookEvents.hooked(
        .postDeleted, about: "'post/' || id",
        "jsonb_build_object('post', jsonb_build_object('id', id, 'author', \(WebhookEvents.bare("author_id"))))",
        from: "gone"))
      SELECT id, is_pulled, \(WebhookEvents.isHooked) FROM gone
      """,
      "DELETE FROM fan_outs WHERE post_id = ANY (\(ids))",
    ])
    let gone = try answers[3].decode(Int.self, Bool.self, Bool.self).map { (id: $0.0, isPulled: $0.1, isHooked: $0.2) }
    try await WebhookEvents.dispatch(gone.contains { $0.isHooked }, in: transaction)
    try await LiveTopic.notify(Set(gone.map { LiveTopic.gone($0.id) }), in: transaction.sql)
    // Pulled posts are in no feed.
    try await transaction.enqueue(gone.filter { !$0.isPulled }.map { RemovePostFromFeeds(post: $0.id, author: author) })
    try await transaction.enqueue(gone.map { DeletePostReactions(post: $0.id, author: author) })
    return gone.count
  }

  private static func checkAuthor(of id: Int, is account: Int, in transaction: PostgresTransaction) async throws {
    let authors = try await transaction.query("SELECT author_id FROM posts WHERE id = \(id)").decode(Int.self)
    guard let author = authors.first else { throw SocialError.notFound("post") }
    guard author == account else { throw SocialError(.notYours, "the post belongs to another account") }
  }
}
