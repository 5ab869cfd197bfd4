import Postgres

/// Makes feeds again what follows and posts say they hold: adds the rows that are missing, takes the stale ones away.
///
/// It runs beside posts, follows and fan-outs, under their locks (`migrations/0006_fan_outs.sql`), a piece at a time, and may be
/// broken off and run again: each piece leaves its rows right, whatever was there.
public struct FeedRebuild: Sendable {
  /// What was done.
  public struct Report: Sendable, Hashable {
    /// Authors whose posts were missing in feeds, or were there and should not be.
    public var authors = 0
    /// Rows that were missing and are there.
    public var added = 0
    /// Rows that should not have been there and are gone.
    public var removed = 0
  }

  /// How far it is.
  public struct Progress: Sendable, Hashable {
    /// Authors that are done, of all to be done; nil while they are looked for.
    public let done: Int
    public let total: Int?
  }

  /// So many rows are looked at in one transaction, about: nobody who unfollows waits longer than that takes.
  private static let piece = 100_000
  private static let timeout = Duration.seconds(3600)

  private let account: Int?

  /// - Parameter account: whose feed; nil for everybody's.
  public init(account: Int?) { self.account = account }

  /// Puts right what differs, author by author, beside what else goes on.
  public func run(
    on pool: PostgresPool, progress: @Sendable (Progress) -> Void = { _ in }
  ) async throws -> Report {
    progress(Progress(done: 0, total: nil))
    let authors = try await pool.transaction { try await differing(in: $0) }
    var report = Report()
    report.removed = try await removeOrphans(on: pool)
    for (index, author) in authors.enumerated() {
      progress(Progress(done: index, total: authors.count))
      report.removed += try await removeStale(of: author, on: pool)
      report.added += try await addMissing(of: author, on: pool)
    }
    report.authors = authors.count
    progress(Progress(done: authors.count, total: authors.count))
    return report
  }

  /// The authors of rows that are missing or stale.
  private func differing(in transaction: PostgresTransaction) async throws -> [Int] {
    try await transaction.pipeline(["SET LOCAL work_mem = '256MB'", "SET LOCAL jit = off"])
    return try await transaction.query(
      """
      SELECT DISTINCT p.author_id FROM posts p JOIN follows ON followee_id = p.author_id
      WHERE p.id >= (SELECT post_id FROM feed_floor) AND (\(account) IS NULL OR follower_id = \(account))
        AND NOT EXISTS (SELECT FROM following_user_posts f WHERE f.user_id = follower_id AND f.post_id = p.id)
      UNION
      SELECT DISTINCT p.author_id FROM following_user_posts f JOIN posts p ON p.id = f.post_id
      WHERE f.post_id >= (SELECT post_id FROM feed_floor) AND (\(account) IS NULL OR f.user_id = \(account))
        AND NOT EXISTS (SELECT FROM follows WHERE followee_id = p.author_id AND follower_id = f.user_id)
      ORDER BY 1
      """, timeout: Self.timeout
    ).decode(Int.self)
  }

  /// Adds an author's posts to the feeds of who follows. As in a fan-out's chunk, an unfollow waits for the range that it is in;
  /// as in a backfill, a post that is deleted meanwhile is taken out by its purge.
  private func addMissing(of author: Int, on pool: PostgresPool) async throws -> Int {
    var added = 0
    for range in try await ranges(of: author, on: pool) {
      added += try await pool.transaction { transaction in
        try await transaction.pipeline([
          "SELECT pg_advisory_xact_lock_shared(posts_lock(\(author)))",
          "SELECT share_feed_locks(\(author), \(range.first), \(range.pastLast))",
        ])
        return try await transaction.execute(
          """
          INSERT INTO following_user_posts (user_id, post_id)
          SELECT follower_id, id FROM posts, follows
          WHERE author_id = \(author) AND id >= (SELECT post_id FROM feed_floor)
            AND followee_id = \(author) AND follower_id >= \(range.first) AND follower_id < \(range.pastLast)
          ORDER BY id, follower_id
          ON CONFLICT DO NOTHING
          """, timeout: Self.timeout)
      }
    }
    return added
  }

  /// Ranges of follower ids, each with as many followers as make a piece with all of the author's posts.
  private func ranges(of author: Int, on pool: PostgresPool) async throws -> [(first: Int, pastLast: Int)] {
    if let account { return [(account, account + 1)] }
    let posts = try await pool.query(
      "SELECT count(*) FROM posts WHERE author_id = \(author) AND id >= (SELECT post_id FROM feed_floor)")[0]
      .decode(Int.self)
    let size = Int32(clamping: max(1, Self.piece / max(1, posts)))
    return try await pool.query(
      "SELECT first, past_last FROM cut_followers(\(author), \(size))", timeout: Self.timeout
    ).decode(Int.self, Int.self).map { (first: $0.0, pastLast: $0.1) }
  }

  /// Takes an author's posts out of the feeds of who does not follow. Nobody posts in the author's name or begins to follow
  /// meanwhile: a follow would find the stale row there, add none, and lose it.
  private func removeStale(of author: Int, on pool: PostgresPool) async throws -> Int {
    try await inPieces(on: pool) { transaction in
      try await transaction.execute("SELECT pg_advisory_xact_lock(posts_lock(\(author)))")
      return try await transaction.execute(
        """
        DELETE FROM following_user_posts f USING (
          SELECT x.user_id, x.post_id FROM posts p JOIN following_user_posts x ON x.post_id = p.id
          WHERE p.author_id = \(author) AND (\(account) IS NULL OR x.user_id = \(account))
            AND NOT EXISTS (SELECT FROM follows WHERE followee_id = \(author) AND follower_id = x.user_id)
          LIMIT \(Self.piece)
        ) stale WHERE f.user_id = stale.user_id AND f.post_id = stale.post_id
        """, timeout: Self.timeout)
    }
  }

  /// Takes out rows of posts that are no more. No post has their id again.
  private func removeOrphans(on pool: PostgresPool) async throws -> Int {
    try await inPieces(on: pool) { transaction in
      try await transaction.execute(
        """
        DELETE FROM following_user_posts f USING (
          SELECT x.user_id, x.post_id FROM following_user_posts x
          WHERE (\(account) IS NULL OR x.user_id = \(account)) AND NOT EXISTS (SELECT FROM posts WHERE id = x.post_id)
          LIMIT \(Self.piece)
        ) gone WHERE f.user_id = gone.user_id AND f.post_id = gone.post_id
        """, timeout: Self.timeout)
    }
  }

  private func inPieces(
    on pool: PostgresPool, _ remove: @Sendable (PostgresTransaction) async throws -> Int
  ) async throws -> Int {
    var removed = 0
    while true {
      let count = try await pool.transaction { try await remove($0) }
      removed += count
      if count < Self.piece { return removed }
    }
  }
}
