import LibPQClient

/// The result of one statement for one reader's feed. A statement reads several readers' feeds at little more than the
/// cost of one, since they share the cost of starting and ending it.
struct FeedRound: Sendable {
  /// nil if no row shows which account the session belongs to.
  var viewer: Int?
  var rows: [Page<Post>.Row] = []
  /// Whether feeds lack older posts; nil if no row shows it.
  var isTrimmed: Bool?
  /// Whether the feed is not stored, because its reader is asleep (`FeedSleepers`).
  var isAsleep = false

  /// The readers of a statement.
  enum Readers: Sendable {
    case accounts([Int])
    case sessions([SessionToken])

    var count: Int {
      switch self {
      case .accounts(let ids): ids.count
      case .sessions(let tokens): tokens.count
      }
    }

    /// The readers as the table `viewers` of a statement: each one's number, from 1, its account and its cursor. Tokens
    /// without a session are left out.
    ///
    /// Postgres knows the number of values in an `ARRAY[…]`, and keeps one plan per number.
    ///
    /// - Parameter cursors: one for each reader.
    func table(before cursors: [Int]) -> PostgresQuery {
      switch self {
      case .accounts(let ids):
        """
        viewers AS MATERIALIZED (
          SELECT n, account_id, cursor
          FROM unnest(ARRAY[\(PostgresQuery.list(ids))], ARRAY[\(PostgresQuery.list(cursors))])
            WITH ORDINALITY AS asked (account_id, cursor, n))
        """
      case .sessions(let tokens):
        """
        viewers AS MATERIALIZED (
          SELECT n, account_id, cursor
          FROM unnest(ARRAY[\(PostgresQuery.list(tokens.map(\.hash)))], ARRAY[\(PostgresQuery.list(cursors))])
            WITH ORDINALITY AS asked (hash, cursor, n)
          JOIN sessions ON token_hash = hash AND expires_at > now())
        """
      }
    }
  }

  /// Writes a limit into the statement's text; pages ask for at most 101 rows. Postgres cannot estimate a parameterized
  /// limit: it rejects the generic plan as too expensive and replans every execution.
  private static func number(_ limit: Int) -> PostgresQuery { "\(unescaped: String(limit))" }

  /// The posts of all accounts, as each reader sees them.
  static func home(
    of readers: Readers, before cursor: Int, _ limit: Int, in reader: some SocialReader
  ) async throws -> [FeedRound] {
    let rows = try await reader.rows(
      """
      WITH \(readers.table(before: Array(repeating: cursor, count: readers.count)))
      SELECT \(unescaped: Post.columns), ARRAY(SELECT n FROM viewers v WHERE \(Likes.isLiked(by: "v.account_id"))),
        ARRAY(SELECT n FROM viewers v WHERE \(Visibility.showsPost("v.account_id"))), p.id,
        (SELECT array_agg(n) FROM viewers), (SELECT array_agg(account_id) FROM viewers)
      FROM (SELECT * FROM posts WHERE id < \(cursor) ORDER BY id DESC LIMIT \(number(limit))) p
      LEFT JOIN accounts a ON a.id = p.author_id ORDER BY p.id DESC
      """)
    var rounds = Array(repeating: FeedRound(), count: readers.count)
    guard let first = rows.first else { return rounds }
    let numbers = try [Int]?(postgres: first[17]) ?? []
    for (number, account) in zip(numbers, try [Int]?(postgres: first[18]) ?? []) {
      rounds[number - 1].viewer = account
      rounds[number - 1].rows.reserveCapacity(rows.count)
    }
    for row in rows {
      let cursor = try Int(postgres: row[16])
      let (likers, shown) = (try [Int](postgres: row[14]), try [Int](postgres: row[15]))
      // The author's account may be deleted.
      let post = row[6].isNull ? nil : try Post(row: row, isLiked: false, seenBy: 0)
      for number in numbers {
        guard let viewer = rounds[number - 1].viewer else { continue }
        let item = shown.contains(number) ? post?.seen(by: viewer, isLiked: likers.contains(number)) : nil
        rounds[number - 1].rows.append((cursor, item))
      }
    }
    return rounds
  }

  /// The rows of the readers' feeds, and pulled posts. Each partition's key returns rows in order, so only the newest
  /// partitions are read. Each author is looked up once per reader, not once per post.
  ///
  /// - Parameters:
  ///   - own: whether to include the readers' own posts.
  ///   - cursors: one for each reader.
  static func following(
    of readers: Readers, _ own: Bool, before cursors: [Int], _ limit: Int, in reader: some SocialReader
  ) async throws -> [FeedRound] {
    let ownPosts: PostgresQuery =
      own
      ? """
      UNION
      (SELECT id FROM posts
        WHERE author_id = v.account_id AND id < v.cursor AND id >= (SELECT post_id FROM feed_floor)
        ORDER BY id DESC LIMIT \(number(limit)))
      """ : ""
    let rows = try await reader.rows(
      """
      WITH \(readers.table(before: cursors)), kept AS MATERIALIZED (
        SELECT v.n, v.account_id, found.post_id FROM viewers v CROSS JOIN LATERAL (
          (SELECT post_id FROM (
            (SELECT post_id FROM following_user_posts
              WHERE user_id = v.account_id AND post_id < v.cursor AND post_id >= (SELECT post_id FROM feed_floor)
              ORDER BY post_id DESC LIMIT \(number(limit)))
            UNION
            (SELECT p.id FROM pulled_authors
              CROSS JOIN LATERAL (
                SELECT FROM follows WHERE followee_id = pulled_authors.author_id AND follower_id = v.account_id OFFSET 0
              ) followed
              CROSS JOIN LATERAL (
                SELECT id FROM posts WHERE author_id = pulled_authors.author_id AND is_pulled
                  AND id < v.cursor AND id >= (SELECT post_id FROM feed_floor)
                ORDER BY id DESC LIMIT \(number(limit))
              ) p ORDER BY p.id DESC LIMIT \(number(limit)))
            \(ownPosts)
          ) kinds ORDER BY post_id DESC LIMIT \(number(limit)))
          UNION ALL SELECT NULL FROM feed_sleepers WHERE account_id = v.account_id
        ) found
      ), listed AS MATERIALIZED (
        SELECT kept.n, kept.account_id, kept.post_id, p.* FROM kept LEFT JOIN posts p ON p.id = kept.post_id
      ), authors AS MATERIALIZED (
        SELECT p.n, a.*, \(Visibility.showsAuthor("p.account_id")) AS is_shown
        FROM (SELECT DISTINCT n, account_id, author_id FROM listed) p CROSS JOIN LATERAL (
          SELECT id, username, name, major, avatar, avatar_media, suspended_at FROM accounts
          WHERE id = p.author_id OFFSET 0
        ) a
      )
      SELECT \(unescaped: Post.columns), \(Likes.isLiked(by: "p.account_id")), p.taken_down_at IS NULL AND a.is_shown,
        p.post_id, (SELECT post_id FROM feed_floor) > 0, p.account_id, p.n
      FROM listed p LEFT JOIN authors a ON a.n = p.n AND a.id = p.author_id
      """)
    var rounds = Array(repeating: FeedRound(), count: readers.count)
    for row in rows {
      let (viewer, number) = (try Int(postgres: row[18]), try Int(postgres: row[19]))
      rounds[number - 1].viewer = viewer
      if rounds[number - 1].isAsleep { continue }
      if row[16].isNull {
        rounds[number - 1].isAsleep = true
      } else {
        rounds[number - 1].isTrimmed = try Bool(postgres: row[17])
        rounds[number - 1].rows.append(try Post.listed(row: row, seenBy: viewer))
      }
    }
    // Sorted here, because Postgres would move whole rows. They nearly always arrive in order.
    for index in rounds.indices { rounds[index].rows.sort { $0.cursor > $1.cursor } }
    return rounds
  }
}
