import LibPQClient

/// Reads feeds, newest first. The cursor of a page is the id of its last post.
public enum Feed {
  /// Everybody's posts.
  public static func home(
    seenBy viewer: Int, _ page: PageRequest, in reader: some SocialReader
  ) async throws -> Page<Post> {
    try await Page.filled(from: page.cursor, limit: page.limit) { cursor, count in
      try await reader.rows(
        """
        SELECT \(unescaped: Post.columns), \(Likes.isLiked(by: viewer)), \(Visibility.showsPost(viewer))
        FROM (SELECT * FROM posts WHERE id < \(cursor) ORDER BY id DESC LIMIT \(count)) p
        LEFT JOIN accounts a ON a.id = p.author_id ORDER BY p.id DESC
        """
      ).map { try Post.listed(row: $0, seenBy: viewer) }
    }
  }

  /// The posts of those whom `account` follows.
  ///
  /// - Parameter own: whether its own posts are among them.
  public static func following(
    _ account: Int, own: Bool = false, _ page: PageRequest, in reader: some SocialReader
  ) async throws -> Page<Post> {
    var posts: [Post] = []
    var cursor = page.cursor
    // A row whose post was deleted a moment ago, or is not shown to the viewer, takes a place without giving a post:
    // another round fills the page up.
    while posts.count <= page.limit {
      let wanted = page.limit + 1 - posts.count
      let rows = try await kept(account, own, before: cursor, wanted, in: reader)
      posts += try await read(rows, seenBy: account, in: reader)
      if let last = rows.last { cursor = last }
      if rows.count < wanted { break }
    }
    if posts.count <= page.limit {
      let old = try await trimmed(account, own, before: cursor, page.limit + 1 - posts.count, in: reader)
      posts += try await read(old.ids, seenBy: account, in: reader)
      if posts.count <= page.limit { return Page(items: posts, next: old.next) }
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

  /// Up to so many followees the latest posts of each are read.
  static let followeesProbed = 500
  /// For who follows more, so many posts of everybody's are read, and whether their authors are followed.
  static let postsScanned = 1000

  /// Ids older than feeds reach, from follows and posts, and where to go on if there may be more.
  ///
  /// What it reads is bounded: a page may have less than `limit` although more follows.
  private static func trimmed(
    _ account: Int, _ own: Bool, before cursor: Int, _ limit: Int, in reader: some SocialReader
  ) async throws -> (ids: [Int], next: Int?) {
    let followees = try await reader.rows(
      """
      SELECT count(*) FROM (SELECT FROM follows WHERE follower_id = \(account) LIMIT \(followeesProbed + 1)) counted
      WHERE (SELECT post_id FROM feed_floor) > 0
      """
    ).decode(Int.self)
    guard followees[0] > followeesProbed else {
      let ids = try await probed(account, own, before: cursor, limit, in: reader)
      return (ids, ids.count == limit ? ids.last : nil)
    }
    return try await scanned(account, own, before: cursor, limit, in: reader)
  }

  /// Of everybody's latest posts those of followees.
  private static func scanned(
    _ account: Int, _ own: Bool, before cursor: Int, _ limit: Int, in reader: some SocialReader
  ) async throws -> (ids: [Int], next: Int?) {
    // First, so that a post that is deleted in between makes the next page begin no lower.
    let end = try await reader.rows(
      """
      SELECT id FROM posts WHERE id < least(\(cursor), (SELECT post_id FROM feed_floor))
      ORDER BY id DESC OFFSET \(postsScanned - 1) LIMIT 1
      """
    ).decode(Int.self).first
    // In the order of the ids, so that it ends with the last that is wanted; no join would be as fast as the probes.
    let ids = try await reader.rows(
      """
      SELECT p.id FROM (
        SELECT id, author_id FROM posts
        WHERE id < least(\(cursor), (SELECT post_id FROM feed_floor)) AND id >= \(end ?? 0)
        ORDER BY id DESC LIMIT \(postsScanned)
      ) p
      LEFT JOIN LATERAL (
        SELECT true AS found FROM follows WHERE follower_id = \(account) AND followee_id = p.author_id LIMIT 1
      ) followed ON true
      WHERE followed.found OR (\(own) AND p.author_id = \(account))
      ORDER BY p.id DESC LIMIT \(limit)
      """
    ).decode(Int.self)
    return (ids, ids.count == limit ? ids.last : end)
  }

  /// The latest of each followee's.
  private static func probed(
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

  /// The posts of `ids` that are there and that the viewer is shown, in the order of `ids`.
  private static func read(_ ids: [Int], seenBy viewer: Int, in reader: some SocialReader) async throws -> [Post] {
    if ids.isEmpty { return [] }
    let rows = try await reader.rows(
      """
      SELECT \(unescaped: Post.columns), \(Likes.isLiked(by: viewer))
      FROM posts p JOIN accounts a ON a.id = p.author_id
      WHERE p.id = ANY (\(ids)) AND \(Visibility.showsPost(viewer)) ORDER BY p.id DESC
      """)
    return try rows.map { try Post(row: $0, seenBy: viewer) }
  }
}
