import LibPQClient

/// A million accounts, some of them with large data, for requests whose cost could grow with it.
struct LargeWorld: Sendable {
  struct Request: Sendable {
    var method = "GET"
    var path: String
    /// The caller of every request.
    var token: String
    /// The callers in turn, where each may send only one request.
    var tokens: [String]?
    var status = 200
  }

  /// Ids that no other measurement uses.
  private static let base = 10_000_000
  /// Follows 100 who have ten posts each.
  static let modest = base + 900_001
  /// Follows 100,000.
  private static let eager = base + 900_002
  /// Has 900,000 followers.
  static let star = base + 900_003
  /// Has 500,000 followers, and a post on each of 20 days.
  private static let crowd = base + 900_004
  /// Fans of the celebs with the most hearts, with some, and with none.
  private static let fans = [base + 49, base + 500_025, base + 50]
  private static let givers = base + 950_000..<base + 950_200
  private static let channel = "UC" + String(repeating: "c", count: 22)

  let database: Database
  /// A post with 100,000 likes and 20,000 comments.
  let famous: Int
  /// In the middle of the posts, by time.
  let middle: Int
  /// Posts before it are trimmed.
  let old: Int

  static func token(_ account: Int) -> String {
    let digits = String(account)
    return String(repeating: "t", count: 43 - digits.count) + digits
  }

  // MARK: Requests

  var reads: [Request] {
    let (modest, eager) = (Self.token(Self.modest), Self.token(Self.eager))
    let paths = [
      "me", "feed/home", "feed/following", "feed/following?own=true", "feed/following?before=\(middle)&limit=100",
      "posts/\(famous)", "posts/\(famous)/comments", "posts/\(famous)/fan-out", "users/star", "users/star/followers",
      "users/star/followers?limit=100", "users/crowd/posts", "users/eager", "users/eager/following",
      "users?query=user-12", "notifications", "notifications/unread", "conversations", "me/likes", "me/celebs",
      "rankings/youtube",
    ]
    return [modest, eager].flatMap { token in paths.map { Request(path: "/v1/" + $0, token: token) } }
      + Self.fans.map {
        Request(path: "/v1/me/celebs/youtube/\(Self.channel)/certificate", token: Self.token($0))
      }
  }

  var writes: [Request] {
    let givers = Self.givers.map(Self.token)
    func write(_ method: String, _ path: String, _ status: Int) -> Request {
      Request(method: method, path: "/v1/" + path, token: givers[0], tokens: givers, status: status)
    }
    return [
      write("PUT", "users/star/follow", 204), write("DELETE", "users/star/follow", 204),
      write("PUT", "posts/\(famous)/like", 204), write("DELETE", "posts/\(famous)/like", 204),
      write("POST", "me/celebs/youtube/\(Self.channel)/hearts", 201), write("PUT", "me/celebs/instagram/artist", 200),
      write("DELETE", "me/celebs/instagram/artist", 204),
    ]
  }

  var asleepReads: [Request] {
    [Self.modest, Self.eager].map { Request(path: "/v1/feed/following", token: Self.token($0)) }
  }

  /// Follows the star.
  var starFollower: Int { Self.fans[0] }

  /// Reads below the floor, once feeds are trimmed.
  var oldReads: [Request] {
    [Self.modest, Self.eager].map { Request(path: "/v1/feed/following?before=\(old)", token: Self.token($0)) }
  }

  var besideTrimming: [Request] {
    let (modest, eager) = (Self.token(Self.modest), Self.token(Self.eager))
    return [
      Request(path: "/v1/feed/following", token: modest), Request(path: "/v1/feed/following", token: eager),
      Request(method: "PUT", path: "/v1/users/user-500/follow", token: modest, status: 204),
      Request(method: "DELETE", path: "/v1/users/user-500/follow", token: modest, status: 204),
    ]
  }

  // MARK: Rows

  static func fill(_ database: Database) async throws -> LargeWorld {
    try await database.pool.transaction { try await $0.executeScript(olderPartitions) }
    let tokens = ([modest, eager, star] + fans + givers).map { (account: $0, token: token($0)) }
    let statements: [PostgresQuery] = [
      """
      INSERT INTO accounts (id, username) OVERRIDING SYSTEM VALUE
      SELECT \(base) + i, coalesce((ARRAY['modest', 'eager', 'star', 'crowd'])[i - 900000], 'user-' || i)
      FROM generate_series(1, 1000000) i
      """,
      """
      INSERT INTO follows (follower_id, followee_id)
      SELECT \(modest), \(base) + i FROM generate_series(1, 100) i
      UNION ALL SELECT \(eager), \(base) + i FROM generate_series(1, 100000) i
      UNION ALL SELECT \(base) + i, \(star) FROM generate_series(1, 899999) i
      UNION ALL SELECT \(base) + i, \(crowd) FROM generate_series(1, 500000) i
      """,
      // A hundred with ten posts each, others with one, and the crowd's; spread over twenty days.
      """
      INSERT INTO posts (id, author_id, title)
      SELECT post_id_at(date_trunc('minute', now()) - make_interval(days => n % 20)) + n,
        CASE WHEN n < 1000 THEN \(base) + 1 + n / 10 ELSE \(base) + n - 899 END, 'a title'
      FROM generate_series(0, 100899) n
      UNION ALL
      SELECT post_id_at(date_trunc('minute', now()) - make_interval(days => n)) + 200000, \(crowd), 'to the crowd'
      FROM generate_series(0, 19) n
      """,
      """
      INSERT INTO fan_outs (post_id, author_id, followers, delivered, chunks, chunks_done, finished_at)
      SELECT id, author_id, 1, 1, 1, 1, now() FROM posts WHERE author_id > \(base)
      """,
      """
      INSERT INTO following_user_posts (user_id, post_id)
      SELECT \(base) + i, id
      FROM (SELECT id FROM posts WHERE author_id = \(crowd) ORDER BY id) p, generate_series(1, 500000) i
      """,
      """
      INSERT INTO following_user_posts (user_id, post_id)
      SELECT follower_id, id FROM follows JOIN posts ON author_id = followee_id
      WHERE follower_id IN (\(modest), \(eager)) ORDER BY follower_id, id
      """,
      """
      WITH post AS (SELECT max(id) AS id FROM posts WHERE author_id = \(crowd))
      INSERT INTO likes (post_id, account_id) SELECT id, \(base) + i FROM post, generate_series(1, 100000) i
      """,
      """
      WITH post AS (SELECT max(id) AS id FROM posts WHERE author_id = \(crowd))
      INSERT INTO comments (post_id, account_id, text)
      SELECT id, \(base) + i, 'yes' FROM post, generate_series(1, 20000) i
      """,
      """
      INSERT INTO likes (post_id, account_id) SELECT id, \(modest) FROM posts
      WHERE author_id > \(base) ORDER BY id DESC OFFSET 100 LIMIT 1000
      """,
      """
      INSERT INTO notifications (owner_id, type, actor_id, created_at)
      SELECT \(modest), 2, \(base) + i, now() FROM generate_series(1, 900) i
      """,
      "INSERT INTO celebs (platform, account) VALUES ('youtube', \(channel))",
      """
      INSERT INTO celeb_fans (account_id, celeb_id, since, hearts, reached_at)
      SELECT \(base) + i, id, now() - interval '1 year', i % 50, now() - make_interval(secs => i)
      FROM celebs, generate_series(1, 5000000) i WHERE account = \(channel)
      """,
      """
      INSERT INTO sessions (token_hash, account_id, expires_at)
      SELECT sha256(convert_to(token, 'UTF8')), account, now() + interval '1 day'
      FROM unnest(\(tokens.map(\.token)), \(tokens.map(\.account))) AS session (token, account)
      """,
    ]
    for statement in statements { try await database.pool.execute(statement) }
    try await database.pool.execute("VACUUM ANALYZE")
    let facts = try await database.pool.query(
      """
      SELECT max(id), post_id_at(now() - interval '5 days'), post_id_at(now() - interval '11 days')
      FROM posts WHERE author_id = \(crowd)
      """
    ).decode(Int.self, Int.self, Int.self)
    guard let (famous, middle, old) = facts.first else { throw BenchError("no posts") }
    return LargeWorld(database: database, famous: famous, middle: middle, old: old)
  }

  /// Daily partitions of the last twenty days, as if they had been made day by day.
  private static let olderPartitions = """
    DROP TABLE following_user_posts_older;
    DO $$ DECLARE day date := (now() AT TIME ZONE 'UTC')::date - 20; BEGIN
      EXECUTE format('CREATE TABLE following_user_posts_older PARTITION OF following_user_posts '
        'FOR VALUES FROM (MINVALUE) TO (%s)', post_id_at(day::timestamp AT TIME ZONE 'UTC'));
      WHILE day < (now() AT TIME ZONE 'UTC')::date - 1 LOOP
        EXECUTE format('CREATE TABLE %I PARTITION OF following_user_posts FOR VALUES FROM (%s) TO (%s)',
          'following_user_posts_' || to_char(day, 'YYYYMMDD'), post_id_at(day::timestamp AT TIME ZONE 'UTC'),
          post_id_at((day + 1)::timestamp AT TIME ZONE 'UTC'));
        day := day + 1;
      END LOOP;
    END $$;
    """

  func partitions() async throws -> Int {
    try await database.count("SELECT count(*) FROM pg_inherits WHERE inhparent = 'following_user_posts'::regclass")
  }

  /// The number of tables that are detached but not dropped yet.
  func leftovers() async throws -> Int { try await database.count("SELECT count(*) FROM feed_leftovers()") }

  func feedRows(of account: Int) async throws -> Int {
    try await database.count("SELECT count(*) FROM following_user_posts WHERE user_id = \(account)")
  }

  /// The expected number of feed rows, from follows and posts.
  func expectedRows(of account: Int) async throws -> Int {
    try await database.count(
      """
      SELECT count(*) FROM follows JOIN posts ON author_id = followee_id
      WHERE follower_id = \(account) AND id >= (SELECT post_id FROM feed_floor)
      """)
  }

  func emptyFeed(of account: Int) async throws {
    try await database.pool.execute("DELETE FROM following_user_posts WHERE user_id = \(account)")
  }

  func putToSleep() async throws {
    try await database.pool.execute(
      "INSERT INTO feed_sleepers (account_id) VALUES (\(Self.modest)), (\(Self.eager))")
  }

  func wakeUp() async throws { try await database.pool.execute("DELETE FROM feed_sleepers") }

  /// The number of pulled posts, which are then deleted.
  func pulledPosts() async throws -> Int {
    let count = try await database.count("SELECT count(*) FROM posts WHERE is_pulled")
    try await database.pool.execute("DELETE FROM posts WHERE is_pulled")
    return count
  }

  /// Lets ten minutes pass.
  func resetHearts() async throws {
    try await database.pool.execute("UPDATE celeb_fans SET hearted_at = NULL WHERE hearted_at IS NOT NULL")
  }
}
