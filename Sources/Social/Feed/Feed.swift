import LibPQClient

/// Reads feeds, newest first. The cursor of a page is the id of its last post.
public enum Feed {
  /// Everybody's posts.
  public static func home(
    seenBy viewer: Int, _ page: PageRequest, in reader: some SocialReader
  ) async throws -> Page<Post> {
    try await Page.filled(from: page.cursor, limit: page.limit) { cursor, count in
      try await latest(.account(viewer), before: cursor, count, in: reader)
        .map { try Post.listed(row: $0, seenBy: viewer) }
    }
  }

  /// The same, read by who a session belongs to. Session and posts are found by one statement.
  ///
  /// - Parameter reader: one that is not behind: a session that has ended is over.
  /// - Throws: `not_signed_in` if the token is no session's, or the session has expired.
  public static func home(
    _ token: SessionToken, _ page: PageRequest, in reader: some SocialReader
  ) async throws -> Page<Post> {
    try await Page.filled(from: page.cursor, limit: page.limit) { cursor, count in
      let rows = try await latest(.session(token), before: cursor, count, in: reader)
      let viewer: Int
      if let first = rows.first {
        guard let account = try Int?(postgres: first[17]) else { throw Sessions.ended }
        viewer = account
      } else {
        // No row says whether it is a session.
        viewer = try await Sessions.going(token, in: reader).id
      }
      return try rows.map { try Post.listed(row: $0, seenBy: viewer) }
    }
  }

  private static func latest(
    _ owner: Owner, before cursor: Int, _ limit: Int, in reader: some SocialReader
  ) async throws -> PostgresRows {
    let viewer = owner.id
    return try await reader.rows(
      """
      WITH \(owner.table)
      SELECT \(unescaped: Post.columns), \(Likes.isLiked(by: viewer)), \(Visibility.showsPost(viewer)), p.id,
        (SELECT account_id FROM viewer)
      FROM (SELECT * FROM posts WHERE id < \(cursor) ORDER BY id DESC LIMIT \(number(limit))) p
      LEFT JOIN accounts a ON a.id = p.author_id ORDER BY p.id DESC
      """)
  }

  /// The posts of those whom `account` follows.
  ///
  /// - Parameter own: whether its own posts are among them.
  public static func following(
    _ account: Int, own: Bool = false, _ page: PageRequest, in reader: some SocialReader
  ) async throws -> Page<Post> {
    let first = try await kept(.account(account), own, before: page.cursor, page.limit + 1, in: reader)
    return try await read(account, own, page, after: first, in: reader).page
  }

  /// A feed, read by who a session belongs to.
  public struct Reading: Sendable {
    public let viewer: Sessions.Viewer
    public let page: Page<Post>
    /// Whether the feed was put together as it was read, since its reader is asleep (`FeedSleepers`).
    public let isAsleep: Bool
  }

  /// The same, of the session's account. Session and feed are found by one statement.
  ///
  /// - Throws: `not_signed_in` if the token is no session's, or the session has expired.
  public static func read(
    _ token: SessionToken, own: Bool = false, _ page: PageRequest, in reader: some SocialReader
  ) async throws -> Reading {
    let first = try await kept(.session(token), own, before: page.cursor, page.limit + 1, in: reader)
    let viewer: Sessions.Viewer
    if let account = first.viewer {
      viewer = Sessions.Viewer(id: account)
    } else {
      viewer = try await Sessions.going(token, in: reader)
    }
    let (page, isAsleep) = try await read(viewer.id, own, page, after: first, in: reader)
    return Reading(viewer: viewer, page: page, isAsleep: isAsleep)
  }

  /// - Parameter first: what the first round found.
  private static func read(
    _ account: Int, _ own: Bool, _ page: PageRequest, after first: Kept, in reader: some SocialReader
  ) async throws -> (page: Page<Post>, isAsleep: Bool) {
    var posts: [Post] = []
    var cursor = page.cursor
    var isAsleep = false
    // Until a row says that feeds reach as far back as posts do.
    var isTrimmed = true
    // A row whose post was deleted a moment ago, or is not shown to the viewer, takes a place without giving a post:
    // another round fills the page up.
    var round = Optional(first)
    while posts.count <= page.limit {
      let wanted = page.limit + 1 - posts.count
      let kept: Kept
      if let first = round.take() {
        kept = first
      } else {
        kept = try await self.kept(.account(account), own, before: cursor, wanted, in: reader)
      }
      if kept.isAsleep {
        isAsleep = true
        break
      }
      posts += kept.rows.compactMap(\.item)
      if let last = kept.rows.last { cursor = last.cursor }
      isTrimmed = kept.isTrimmed ?? isTrimmed
      if kept.rows.count < wanted { break }
    }
    var next: Int?
    // The feed of a sleeping reader who follows many may start far behind the newest posts.
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

  /// Who reads.
  private enum Owner {
    case account(Int)
    case session(SessionToken)

    /// What finds the account, as the table `viewer` of a statement.
    var table: PostgresQuery {
      switch self {
      case .account(let id): "viewer AS (SELECT \(id)::bigint AS account_id)"
      case .session(let token): "viewer AS MATERIALIZED (\(Sessions.account(token)))"
      }
    }

    /// The account, as an expression.
    var id: PostgresQuery {
      switch self {
      case .account(let id): "\(id)"
      case .session: "(SELECT account_id FROM viewer)"
      }
    }
  }

  /// Writes a limit into the statement's text; pages ask for 101 rows at most. Postgres cannot estimate a limit that is
  /// a parameter: it rejects the generic plan as too expensive and plans every execution again.
  private static func number(_ limit: Int) -> PostgresQuery { "\(unescaped: String(limit))" }

  /// What a round found.
  private struct Kept {
    var rows: [Page<Post>.Row] = []
    /// nil where no row says.
    var viewer: Int?
    /// Whether feeds lack older posts; nil where no row says.
    var isTrimmed: Bool?
    var isAsleep = false
  }

  /// What feeds hold, and posts that are pulled. Each partition's key gives rows in order, so the newest partitions
  /// alone are read.
  private static func kept(
    _ owner: Owner, _ own: Bool, before cursor: Int, _ limit: Int, in reader: some SocialReader
  ) async throws -> Kept {
    let account = owner.id
    let ownPosts: PostgresQuery =
      own
      ? """
      UNION
      (SELECT id FROM posts
        WHERE author_id = \(account) AND id < \(cursor) AND id >= (SELECT post_id FROM feed_floor)
        ORDER BY id DESC LIMIT \(number(limit)))
      """ : ""
    let rows = try await reader.rows(
      """
      WITH \(owner.table), kept AS MATERIALIZED (
        (SELECT post_id FROM (
          (SELECT post_id FROM following_user_posts
            WHERE user_id = \(account) AND post_id < \(cursor) AND post_id >= (SELECT post_id FROM feed_floor)
            ORDER BY post_id DESC LIMIT \(number(limit)))
          UNION
          (SELECT p.id FROM pulled_authors
            CROSS JOIN LATERAL (
              SELECT FROM follows WHERE followee_id = pulled_authors.author_id AND follower_id = \(account) OFFSET 0
            ) followed
            CROSS JOIN LATERAL (
              SELECT id FROM posts WHERE author_id = pulled_authors.author_id AND is_pulled
                AND id < \(cursor) AND id >= (SELECT post_id FROM feed_floor)
              ORDER BY id DESC LIMIT \(number(limit))
            ) p ORDER BY p.id DESC LIMIT \(number(limit)))
          \(ownPosts)
        ) kinds ORDER BY post_id DESC LIMIT \(number(limit)))
        UNION ALL SELECT NULL FROM feed_sleepers WHERE account_id = \(account)
      )
      SELECT \(unescaped: Post.columns), \(Likes.isLiked(by: account)), \(Visibility.showsPost(account)), kept.post_id,
        (SELECT post_id FROM feed_floor) > 0, (SELECT account_id FROM viewer)
      FROM kept LEFT JOIN posts p ON p.id = kept.post_id LEFT JOIN accounts a ON a.id = p.author_id
      ORDER BY kept.post_id DESC NULLS FIRST
      """)
    guard let first = rows.first else { return Kept() }
    let viewer = try Int(postgres: first[18])
    if first[16].isNull { return Kept(viewer: viewer, isAsleep: true) }
    return Kept(
      rows: try rows.map { try Post.listed(row: $0, seenBy: viewer) }, viewer: viewer,
      isTrimmed: try Bool(postgres: first[17]))
  }

  /// Up to so many followees the latest posts of each are read.
  static let followeesProbed = 500
  /// For who follows more, so many posts of everybody's are read, and whether their authors are followed.
  static let postsScanned = 1000

  /// Ids older than feeds reach, from follows and posts, and where to go on if there may be more.
  ///
  /// - Parameter everything: reads new posts too, for a sleeping reader.
  ///
  /// What it reads is bounded: a page may have less than `limit` although more follows.
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

  /// Of everybody's latest posts those of followees.
  private static func scanned(
    _ account: Int, _ own: Bool, _ everything: Bool, before cursor: Int, _ limit: Int, in reader: some SocialReader
  ) async throws -> (ids: [Int], next: Int?) {
    // First, so that a post that is deleted in between makes the next page begin no lower.
    let last = try await reader.rows(
      """
      SELECT id FROM posts WHERE id < \(end(everything, before: cursor))
      ORDER BY id DESC OFFSET \(postsScanned - 1) LIMIT 1
      """
    ).decode(Int.self).first
    // In the order of the ids, so that it ends with the last that is wanted; no join would be as fast as the probes.
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

  /// The latest of each followee's.
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

  /// The posts of `ids` that are there and that the viewer is shown, in the order of `ids`.
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
