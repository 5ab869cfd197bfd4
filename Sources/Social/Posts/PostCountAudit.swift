import LibPQClient

/// Compares the stored numbers of likes and comments with the actual likes and comments.
public struct PostCountAudit: Sendable, Hashable {
  /// Count rows that exist or should exist.
  public let compared: Int
  /// Rows that differ.
  public let wrong: Int

  public var isExact: Bool { wrong == 0 }

  /// Compares in one snapshot, regardless of concurrent writes.
  public static func run(on pool: PostgresPool) async throws -> PostCountAudit {
    try await pool.transaction(.snapshot) { transaction in
      try await transaction.pipeline(["SET LOCAL work_mem = '256MB'", "SET LOCAL jit = off"])
      let (compared, wrong) = try await transaction.query(
        """
        SELECT count(*), count(*) FILTER (
          WHERE (coalesce(kept.likes, 0), coalesce(kept.comments, 0))
            <> (coalesce(counted.likes, 0), coalesce(counted.comments, 0)))
        FROM post_counts kept FULL JOIN counted_posts counted USING (post_id, shard)
        """, timeout: .seconds(3600))[0].decode(Int.self, Int.self)
      return PostCountAudit(compared: compared, wrong: wrong)
    }
  }
}
