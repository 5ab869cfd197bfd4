import Foundation
import LibPQClient

/// A million synthetic accounts whose feeds hold 10,000,000 rows: 9,000,000 of older days, 1,000,000 of today; and an
/// author for each follower count, with followers spread evenly over the accounts.
struct Crowd: Sendable {
  static let accounts = 1_000_000
  private static let olderPosts = 9

  let database: Database

  /// The distance between two followers' ids.
  static func step(_ followers: Int) -> Int { accounts / followers }

  /// The name of the account with that many followers.
  static func username(_ followers: Int) -> String { "author-\(followers)" }

  /// Fills the tables in key order and vacuums them, as autovacuum eventually would.
  func fill(_ sizes: [Int]) async throws {
    // Left by another measurement.
    try await database.pool.execute("TRUNCATE following_user_posts_older")
    try await database.pool.execute(
      """
      INSERT INTO following_user_posts_older (user_id, post_id)
      SELECT account, post FROM generate_series(1, \(Self.accounts)) account,
        generate_series(1, \(Self.olderPosts)) post
      """)
    for size in sizes {
      // Followers need no row in accounts; an author's id must not be one of theirs.
      try await database.pool.execute(
        """
        INSERT INTO accounts (id, username) OVERRIDING SYSTEM VALUE
        VALUES (\(Self.accounts + size), \(Self.username(size)))
        """)
      try await database.pool.execute(
        """
        INSERT INTO follows (follower_id, followee_id)
        SELECT number * \(Self.step(size)), \(Self.accounts + size) FROM generate_series(1, \(size)) number
        """)
    }
    try await database.pool.execute("VACUUM ANALYZE follows, following_user_posts_older")
  }

  /// Empties today's partition except for one row in each feed.
  func reset() async throws {
    let today = try await database.pool.query(
      "SELECT 'following_user_posts_' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')"
    ).decode(String.self)
    guard let today = today.first else { throw BenchError("no partition of today") }
    try await database.pool.execute("TRUNCATE \(unescaped: today)")
    let post = try await database.count("SELECT next_post_id()")
    try await database.pool.execute(
      """
      INSERT INTO following_user_posts (user_id, post_id)
      SELECT account, \(post) FROM generate_series(1, \(Self.accounts)) account
      """)
    try BenchError.check(
      "rows in the feeds", try await database.count("SELECT count(*) FROM following_user_posts"),
      equals: Self.accounts * (Self.olderPosts + 1))
  }

  private struct Post: Decodable {
    var id: Int
  }

  /// Creates a post through the API.
  ///
  /// - Returns: the post's id.
  static func post(as token: String?, port: Int) throws -> Int {
    let answer = try HTTPCall.send("POST", "/v1/posts", port: port, token: token, body: #"{"title": "To everybody"}"#)
    guard answer.status == 201 else {
      throw BenchError("the API answered \(answer.status): \(String(decoding: answer.body, as: UTF8.self))")
    }
    return try JSONDecoder().decode(Post.self, from: answer.body).id
  }

  func checkpoint() async throws { try await database.pool.execute("CHECKPOINT") }

  /// The number of feeds with the post.
  func rows(of post: Int) async throws -> Int {
    try await database.count("SELECT count(*) FROM following_user_posts WHERE post_id = \(post)")
  }

  /// Whether some followers do not have the post yet.
  func unfinished(_ post: Int) async throws -> Bool {
    try await database.count("SELECT count(*) FROM fan_outs WHERE post_id = \(post) AND finished_at IS NOT NULL") == 0
  }

  /// The seconds that plain C takes to COPY the rows of a fan-out.
  func copy(_ followers: Int) async throws -> Double {
    let post = try await database.count("SELECT next_post_id()")
    try await checkpoint()
    let step = Self.step(followers)
    let rate = try Raw.copy(
      database.url, table: "following_user_posts", first: step, step: step, count: followers, post: post)
    try BenchError.check("rows of the COPY", try await rows(of: post), equals: followers)
    return Double(followers) / rate
  }
}
