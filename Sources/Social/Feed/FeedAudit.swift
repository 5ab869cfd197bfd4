import LibPQClient

/// Compares every feed with the rows that follows and posts imply.
public struct FeedAudit: Sendable, Hashable {
  /// A row of a feed.
  public struct Row: Sendable, Hashable {
    public let username: String
    public let user: Int
    public let post: Int
  }

  /// The number of rows that feeds should have.
  public let expected: Int
  /// The number of rows that feeds have.
  public let found: Int
  /// The number of rows that feeds lack.
  public let missing: Int
  /// The number of rows that should not exist.
  public let stale: Int
  /// The first of the missing rows.
  public let missingRows: [Row]
  /// The first of the stale rows.
  public let staleRows: [Row]
  /// Posts not yet fanned out, and deleted posts not yet purged. While any are pending, rows may legitimately differ.
  public let pending: Int

  public var isExact: Bool { missing == 0 && stale == 0 }

  /// Compares in one snapshot, regardless of concurrent writes.
  ///
  /// One hash join finds the missing rows. The key makes both sides sets, so the number of stale rows is the number
  /// found minus those both expected and found. Five million rows take a few seconds.
  ///
  /// - Parameter examples: how many differing rows of each kind to return.
  public static func run(examples: Int = 20, on pool: PostgresPool) async throws -> FeedAudit {
    try await pool.transaction(.snapshot) { try await run(examples: examples, in: $0) }
  }

  private static func run(examples: Int, in transaction: PostgresTransaction) async throws -> FeedAudit {
    try await transaction.pipeline(["SET LOCAL work_mem = '256MB'", "SET LOCAL jit = off"])
    let counts = try await transaction.query(
      """
      SELECT count(*), count(*) FILTER (WHERE f.user_id IS NULL),
        (SELECT count(*) FROM following_user_posts f
          WHERE post_id >= (SELECT post_id FROM feed_floor) AND \(unescaped: isKept("f.user_id"))),
        (SELECT count(*) FROM posts WHERE NOT EXISTS (
            SELECT FROM fan_outs WHERE fan_outs.post_id = posts.id AND finished_at IS NOT NULL))
          + (SELECT count(*) FROM deleted_posts)
      FROM (\(unescaped: due)) due LEFT JOIN following_user_posts f ON f.user_id = due.user_id
        AND f.post_id = due.post_id
      """, timeout: .seconds(3600))
    let (expected, missing, found, pending) = try counts[0].decode(Int.self, Int.self, Int.self, Int.self)
    let stale = found - (expected - missing)
    return FeedAudit(
      expected: expected, found: found, missing: missing, stale: stale,
      missingRows: missing == 0
        ? []
        : try await rows(
          """
          SELECT a.username, due.user_id, due.post_id FROM (\(unescaped: due)) due
          LEFT JOIN following_user_posts f ON f.user_id = due.user_id AND f.post_id = due.post_id
          LEFT JOIN accounts a ON a.id = due.user_id
          WHERE f.user_id IS NULL LIMIT \(examples)
          """, in: transaction),
      staleRows: stale == 0
        ? []
        : try await rows(
          """
          SELECT a.username, f.user_id, f.post_id FROM following_user_posts f
          LEFT JOIN (\(unescaped: due)) due ON f.user_id = due.user_id AND f.post_id = due.post_id
          LEFT JOIN accounts a ON a.id = f.user_id
          WHERE due.user_id IS NULL AND f.post_id >= (SELECT post_id FROM feed_floor)
            AND \(unescaped: isKept("f.user_id")) LIMIT \(examples)
          """, in: transaction),
      pending: pending)
  }

  /// Pulled posts are in no feed, and sleeping readers have no feed to compare.
  private static let due = """
    SELECT follower_id AS user_id, id AS post_id FROM follows JOIN posts ON author_id = followee_id
    WHERE id >= (SELECT post_id FROM feed_floor) AND NOT is_pulled AND \(isKept("follower_id"))
    """

  private static func isKept(_ reader: String) -> String {
    "\(reader) NOT IN (SELECT account_id FROM feed_sleepers)"
  }

  private static func rows(_ query: PostgresQuery, in transaction: PostgresTransaction) async throws -> [Row] {
    try await transaction.query(query, timeout: .seconds(3600)).decode(String?.self, Int.self, Int.self).map { row in
      Row(username: row.0 ?? "(no account \(row.1))", user: row.1, post: row.2)
    }
  }
}
