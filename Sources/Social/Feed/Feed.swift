import LibPQClient

/// Reads feeds, newest first. The cursor of a page is the id of its last post.
public enum Feed {
  /// The posts of all accounts.
  public static func home(
    seenBy viewer: Int, _ page: PageRequest, in reader: some SocialReader
  ) async throws -> Page<Post> {
    try await Page.filled(from: page.cursor, limit: page.limit) { cursor, count in
      try await FeedRound.home(of: .accounts([viewer]), before: cursor, count, in: reader)[0].rows
    }
  }

  /// The posts of the accounts that `account` follows.
  ///
  /// - Parameter own: whether to include the account's own posts.
  public static func following(
    _ account: Int, own: Bool = false, _ page: PageRequest, in reader: some SocialReader
  ) async throws -> Page<Post> {
    let first = try await FeedRound.following(
      of: .accounts([account]), own, before: [page.cursor], page.limit + 1, in: reader)[0]
    return try await read(account, own, page, after: first, in: reader).page
  }

  /// - Parameter first: the result of the first round.
  static func read(
    _ account: Int, _ own: Bool, _ page: PageRequest, after first: FeedRound, in reader: some SocialReader
  ) async throws -> (page: Page<Post>, isAsleep: Bool) {
    var posts: [Post] = []
    var cursor = page.cursor
    var isAsleep = false
    // Assumed until a row shows that feeds reach back as far as posts do.
    var isTrimmed = true
    // A row may yield no post, because the post was just deleted or is not shown to the viewer. Further rounds fill the
    // page.
    var round = Optional(first)
    while posts.count <= page.limit {
      let wanted = page.limit + 1 - posts.count
      let found: FeedRound
      if let first = round.take() {
        found = first
      } else {
        found = try await FeedRound.following(
          of: .accounts([account]), own, before: [cursor], wanted, in: reader)[0]
      }
      if found.isAsleep {
        isAsleep = true
        break
      }
      posts += found.rows.compactMap(\.item)
      if let last = found.rows.last { cursor = last.cursor }
      isTrimmed = found.isTrimmed ?? isTrimmed
      if found.rows.count < wanted { break }
    }
    var next: Int?
    // A sleeping reader who follows many accounts may have no posts among the newest, so it gets more rounds.
    for _ in 0..<(isAsleep ? 5 : isTrimmed ? 1 : 0) where posts.count <= page.limit {
      let old = try await older(
        account, own, everything: isAsleep, before: cursor, page.limit + 1 - posts.count, in: reader)
      posts += try await self.posts(old.ids, seenBy: account, in: reader)
      next = old.next
      guard let next else { break }
      cursor = next
    }
    let found =
      posts.count <= page.limit ? Page(items: posts, next: next) : Page(posts, limit: page.limit, cursor: \.id)
    return (found, isAsleep)
  }

  /// Up to this many followees, the latest posts of each are read.
  static let followeesProbed = 500
  /// For more followees, this many of the latest posts by all accounts are read, and filtered by whether their author
  /// is followed.
  static let postsScanned = 1000

  /// Post ids older than feeds reach, from follows and posts, and the cursor to continue from if there may be more.
  ///
  /// - Parameter everything: also reads new posts, for a sleeping reader.
  ///
  /// The amount read is bounded, so a page may have fewer than `limit` posts although more exist.
  private static func older(
    _ account: Int, _ own: Bool, everything: Bool, before cursor: Int, _ limit: Int, in reader: some SocialReader
  ) async throws -> (ids: [Int], next: Int?) {
    let followees = try await reader.rows(
      """
      SELECT count(*) FROM (SELECT FROM follows WHERE follower_id = \(account) LIMIT \(followeesProbed + 1)) counted
      WHERE \(everything) OR (SELECT post_id FROM feed_floor) > 0
      """
    ).decode(Int.self)
    guard followees[0] > followeesProbed else {
      let ids = try await probed(account, own, everything, before: cursor, limit, in: reader)
      return (ids, ids.count == limit ? ids.last : nil)
    }
    return try await scanned(account, own, everything, before: cursor, limit, in: reader)
  }

  private static func end(_ everything: Bool, before cursor: Int) -> PostgresQuery {
    everything ? "\(cursor)::bigint" : "least(\(cursor), (SELECT post_id FROM feed_floor))"
  }

  /// The followees' posts among the latest posts of all accounts.
  private static func scanned(
    _ account: Int, _ own: Bool, _ everything: Bool, before cursor: Int, _ limit: Int, in reader: some SocialReader
  ) async throws -> (ids: [Int], next: Int?) {
    // Read first, so that a concurrent deletion cannot move the start of the next page lower.
    let last = try await reader.rows(
      """
      SELECT id FROM posts WHERE id < \(end(everything, before: cursor))
      ORDER BY id DESC OFFSET \(postsScanned - 1) LIMIT 1
      """
    ).decode(Int.self).first
    // Ordered by id, so that it stops at the last wanted post. No join is as fast as these probes.
    let ids = try await reader.rows(
      """
      SELECT p.id FROM (
        SELECT id, author_id FROM posts
        WHERE id < \(end(everything, before: cursor)) AND id >= \(last ?? 0)
        ORDER BY id DESC LIMIT \(postsScanned)
      ) p
      LEFT JOIN LATERAL (
        SELECT true AS found FROM follows WHERE follower_id = \(account) AND followee_id = p.author_id LIMIT 1
      ) followed ON true
      WHERE followed.found OR (\(own) AND p.author_id = \(account))
      ORDER BY p.id DESC LIMIT \(limit)
      """
    ).decode(Int.self)
    return (ids, ids.count == limit ? ids.last : last)
  }

  /// The latest posts of each followee.
  private static func probed(
    _ account: Int, _ own: Bool, _ everything: Bool, before cursor: Int, _ limit: Int, in reader: some SocialReader
  ) async throws -> [Int] {
    try await reader.rows(
      """
      SELECT p.id FROM (
        SELECT \(end(everything, before: cursor)) AS cursor FROM feed_floor WHERE \(everything) OR post_id > 0
      ) bound
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

  /// The posts of `ids` that exist and are shown to the viewer, in the order of `ids`.
  private static func posts(_ ids: [Int], seenBy viewer: Int, in reader: some SocialReader) async throws -> [Post] {
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
