import LibPQClient

/// Repairs feeds to match follows and posts: adds missing rows and removes stale ones.
///
/// It runs alongside posts, follows and fan-outs. Reads that may scan whole partitions hold no lock. Their findings are
/// rechecked and repaired by key, in small pieces, under the authors' locks (`migrations/0006_fan_outs.sql`). It may be
/// interrupted and run again: each piece leaves its rows correct, whatever their state was.
public struct FeedRebuild: Sendable {
  /// The changes that a rebuild made.
  public struct Report: Sendable, Hashable {
    /// Authors whose posts were missing from feeds, or were in feeds wrongly.
    public var authors = 0
    /// Missing rows that were added.
    public var added = 0
    /// Stale rows that were removed.
    public var removed = 0
  }

  /// The progress of a rebuild.
  public struct Progress: Sendable, Hashable {
    /// The authors done, and the total of those with missing posts; nil while the search for them runs.
    public let done: Int
    public let total: Int?
  }

  private let account: Int?
  private let sizes: FeedSizes
  private static let timeout = Duration.seconds(3600)

  /// - Parameter account: the account whose feed to rebuild; nil for all feeds.
  public init(account: Int?) {
    self.account = account
    sizes = FeedSizes.current
  }

  /// Repairs the differences, author by author, alongside other work.
  public func run(
    on pool: PostgresPool, progress: @Sendable (Progress) -> Void = { _ in }
  ) async throws -> Report {
    progress(Progress(done: 0, total: nil))
    var report = Report()
    var touched: Set<Int> = []
    while true {
      let stale = try await pool.transaction { try await staleRows(in: $0) }
      for author in stale.authors {
        let removed = try await removeStale(stale, of: author, on: pool)
        report.removed += removed
        if removed > 0, let author { touched.insert(author) }
      }
      if stale.count < sizes.rebuildRead { break }
    }
    let missing = try await pool.transaction { try await authorsOfMissingRows(in: $0) }
    for (index, author) in missing.enumerated() {
      progress(Progress(done: index, total: missing.count))
      let added = try await addMissing(of: author, on: pool)
      report.added += added
      if added > 0 { touched.insert(author) }
    }
    report.authors = touched.count
    progress(Progress(done: missing.count, total: missing.count))
    return report
  }

  // MARK: Stale rows

  /// Rows that were stale when they were read, by author; nil is the author of deleted posts.
  private struct StaleRows: Sendable {
    var count = 0
    var rows: [Int?: (users: [Int], posts: [Int])] = [:]

    /// Sorted, so that concurrent rebuilds use the same order.
    var authors: [Int?] { rows.keys.sorted { ($0 ?? 0) < ($1 ?? 0) } }
  }

  private func staleRows(in transaction: PostgresTransaction) async throws -> StaleRows {
    try await transaction.pipeline(["SET LOCAL work_mem = '256MB'", "SET LOCAL jit = off"])
    // Materialized: the limit would make the planner expect to read only a few rows.
    let rows = try await transaction.query(
      """
      WITH stale AS MATERIALIZED (
        SELECT p.author_id, f.user_id, f.post_id
        FROM following_user_posts f LEFT JOIN posts p ON p.id = f.post_id
        LEFT JOIN follows ON followee_id = p.author_id AND follower_id = f.user_id
        WHERE (follower_id IS NULL OR p.is_pulled) AND (\(account) IS NULL OR f.user_id = \(account))
      )
      SELECT author_id, user_id, post_id FROM stale LIMIT \(sizes.rebuildRead)
      """, timeout: Self.timeout
    ).decode(Int?.self, Int.self, Int.self)
    var stale = StaleRows(count: rows.count)
    for (author, user, post) in rows {
      stale.rows[author, default: ([], [])].users.append(user)
      stale.rows[author, default: ([], [])].posts.append(post)
    }
    return stale
  }

  private func removeStale(_ stale: StaleRows, of author: Int?, on pool: PostgresPool) async throws -> Int {
    guard let (users, posts) = stale.rows[author] else { return 0 }
    var removed = 0
    for start in stride(from: 0, to: users.count, by: sizes.rebuildPiece) {
      let piece = start..<min(start + sizes.rebuildPiece, users.count)
      let (pieceUsers, piecePosts) = (Array(users[piece]), Array(posts[piece]))
      removed += try await pool.transaction { transaction in
        if let author {
          try await removeStale(pieceUsers, piecePosts, of: author, in: transaction)
        } else {
          try await removeOrphans(pieceUsers, piecePosts, in: transaction)
        }
      }
    }
    return removed
  }

  /// Removes an author's posts from the feeds of non-followers, and pulled posts from every feed. The author's posts
  /// and follows are blocked meanwhile: a new follow would find the stale row, add none, and lose it.
  private func removeStale(
    _ users: [Int], _ posts: [Int], of author: Int, in transaction: PostgresTransaction
  ) async throws -> Int {
    try await transaction.execute("SELECT pg_advisory_xact_lock(posts_lock(\(author)))")
    return try await transaction.execute(
      """
      DELETE FROM following_user_posts f USING unnest(\(users), \(posts)) AS stale (user_id, post_id)
      WHERE f.user_id = stale.user_id AND f.post_id = stale.post_id
        AND (NOT EXISTS (SELECT FROM follows WHERE followee_id = \(author) AND follower_id = stale.user_id)
          OR EXISTS (SELECT FROM posts WHERE id = stale.post_id AND is_pulled))
      """, timeout: Self.timeout)
  }

  /// Removes rows of deleted posts, whose ids are never reused. Rows that a purge or an unfollow is deleting are
  /// skipped, since waiting for them could deadlock.
  private func removeOrphans(_ users: [Int], _ posts: [Int], in transaction: PostgresTransaction) async throws -> Int {
    try await transaction.execute(
      """
      WITH gone AS MATERIALIZED (
        SELECT f.user_id, f.post_id FROM following_user_posts f
        JOIN unnest(\(users), \(posts)) AS orphan (user_id, post_id)
          ON f.user_id = orphan.user_id AND f.post_id = orphan.post_id
        FOR UPDATE OF f SKIP LOCKED
      )
      DELETE FROM following_user_posts f USING gone WHERE f.user_id = gone.user_id AND f.post_id = gone.post_id
      """, timeout: Self.timeout)
  }

  // MARK: Missing rows

  private func authorsOfMissingRows(in transaction: PostgresTransaction) async throws -> [Int] {
    try await transaction.pipeline(["SET LOCAL work_mem = '256MB'", "SET LOCAL jit = off"])
    return try await transaction.query(
      """
      SELECT DISTINCT p.author_id FROM follows JOIN posts p ON p.author_id = followee_id
      WHERE p.id >= (SELECT post_id FROM feed_floor) AND NOT p.is_pulled
        AND CASE WHEN \(account) IS NULL THEN follower_id NOT IN (SELECT account_id FROM feed_sleepers)
          ELSE follower_id = \(account) END
        AND NOT EXISTS (SELECT FROM following_user_posts f WHERE f.user_id = follower_id AND f.post_id = p.id)
      ORDER BY 1
      """, timeout: Self.timeout
    ).decode(Int.self)
  }

  /// Adds an author's posts to the feeds of followers. As in a fan-out's chunk, an unfollow waits for the range it is
  /// in. As in a backfill, the purge of a post deleted meanwhile removes its rows.
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
          WHERE author_id = \(author) AND id >= (SELECT post_id FROM feed_floor) AND NOT is_pulled
            AND followee_id = \(author) AND follower_id >= \(range.first) AND follower_id < \(range.pastLast)
          ORDER BY id, follower_id
          ON CONFLICT DO NOTHING
          """, timeout: Self.timeout)
      }
    }
    return added
  }

  /// Ranges of follower ids, sized so that their followers times the author's posts make one piece.
  private func ranges(of author: Int, on pool: PostgresPool) async throws -> [(first: Int, pastLast: Int)] {
    if let account { return [(account, account + 1)] }
    let posts = try await pool.query(
      "SELECT count(*) FROM posts WHERE author_id = \(author) AND id >= (SELECT post_id FROM feed_floor)")[0]
      .decode(Int.self)
    let size = Int32(clamping: max(1, sizes.rebuildPiece / max(1, posts)))
    return try await pool.query(
      "SELECT first, past_last FROM cut_followers(\(author), \(size))", timeout: Self.timeout
    ).decode(Int.self, Int.self).map { (first: $0.0, pastLast: $0.1) }
  }
}
