import LibPQClient

/// Compares the kept numbers of likes and comments with the likes and comments that there are.
public struct PostCountAudit: Sendable, Hashable {
  /// Rows of counts that are kept or should be.
  public let compared: Int
  /// Those that differ.
  public let wrong: Int

  public var isExact: Bool { wrong == 0 }

  /// Compares in one snapshot, whatever is written meanwhile.
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
