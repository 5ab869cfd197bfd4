import Postgres

/// Reads feeds, newest first. The cursor of a page is the id of its last post.
public enum Feed {
  /// Everybody's posts.
  public static func home(_ page: PageRequest, in reader: some SocialReader) async throws -> Page<Post> {
    let rows = try await reader.rows(
      """
      SELECT \(unescaped: Post.columns)
      FROM (SELECT * FROM posts WHERE id < \(page.cursor) ORDER BY id DESC LIMIT \(page.limit + 1)) p
      JOIN accounts a ON a.id = p.author_id ORDER BY p.id DESC
      """)
    return Page(try rows.map { try Post(row: $0) }, limit: page.limit, cursor: \.id)
  }

  /// The posts of those whom `account` follows.
  ///
  /// - Parameter own: whether its own posts are among them.
  public static func following(
    _ account: Int, own: Bool = false, _ page: PageRequest, in reader: some SocialReader
  ) async throws -> Page<Post> {
    var posts: [Post] = []
    var cursor = page.cursor
    // A row whose post was deleted a moment ago, and not purged yet, takes a place without giving a post: another round fills
    // the page up.
    while posts.count <= page.limit {
      let wanted = page.limit + 1 - posts.count
      let rows = try await kept(account, own, before: cursor, wanted, in: reader)
      posts += try await read(rows, in: reader)
      if let last = rows.last { cursor = last }
      if rows.count < wanted { break }
    }
    if posts.count <= page.limit {
      posts += try await read(
        try await trimmed(account, own, before: cursor, page.limit + 1 - posts.count, in: reader), in: reader)
    }
    return Page(posts, limit: page.limit, cursor: \.id)
  }

  /// Ids from the feed's rows. Each partition's key gives them in order, so the newest partitions alone are read.
  private static func kept(
    _ account: Int, _ own: Bool, before cursor: Int, _ limit: Int, in reader: some SocialReader
  ) async throws -> [Int] {
    let feed: PostgresQuery =
      if own {
        """
        SELECT post_id FROM (
          (SELECT post_id FROM following_user_posts
            WHERE user_id = \(account) AND post_id < \(cursor) AND post_id >= (SELECT post_id FROM feed_floor)
            ORDER BY post_id DESC LIMIT \(limit))
          UNION ALL
          (SELECT id FROM posts
            WHERE author_id = \(account) AND id < \(cursor) AND id >= (SELECT post_id FROM feed_floor)
            ORDER BY id DESC LIMIT \(limit))
        ) both_kinds ORDER BY post_id DESC LIMIT \(limit)
        """
      } else {
        """
        SELECT post_id FROM following_user_posts
        WHERE user_id = \(account) AND post_id < \(cursor) AND post_id >= (SELECT post_id FROM feed_floor)
        ORDER BY post_id DESC LIMIT \(limit)
        """
      }
    return try await reader.rows(feed).decode(Int.self)
  }

  /// Ids older than feeds reach, from follows and posts.
  private static func trimmed(
    _ account: Int, _ own: Bool, before cursor: Int, _ limit: Int, in reader: some SocialReader
  ) async throws -> [Int] {
    try await reader.rows(
      """
      SELECT p.id FROM (SELECT least(post_id, \(cursor)) AS cursor FROM feed_floor WHERE post_id > 0) bound
      CROSS JOIN (
        SELECT followee_id AS author FROM follows WHERE follower_id = \(account)
        UNION ALL SELECT \(account) WHERE \(own)
      ) authors
      CROSS JOIN LATERAL (
        SELECT id FROM posts WHERE author_id = author AND id < cursor ORDER BY id DESC LIMIT \(limit)
      ) p
      ORDER BY p.id DESC LIMIT \(limit)
      """
    ).decode(Int.self)
  }

  /// The posts of `ids` that are there, in the order of `ids`.
  private static func read(_ ids: [Int], in reader: some SocialReader) async throws -> [Post] {
    if ids.isEmpty { return [] }
    let rows = try await reader.rows(
      """
      SELECT \(unescaped: Post.columns) FROM posts p JOIN accounts a ON a.id = p.author_id
      WHERE p.id = ANY (\(ids)) ORDER BY p.id DESC
      """)
    return try rows.map { try Post(row: $0) }
  }
}
