import LibPQClient

/// Compares the search tables with the actual accounts and posts.
public struct SearchAudit: Sendable, Hashable {
  /// Rows that exist or should exist.
  public let compared: Int
  /// Rows that differ, are missing, or belong to no account or post.
  public let wrong: Int

  public var isExact: Bool { wrong == 0 }

  /// Compares in one snapshot, regardless of concurrent writes.
  public static func run(on pool: PostgresPool) async throws -> SearchAudit {
    try await pool.transaction(.snapshot) { transaction in
      try await transaction.pipeline(["SET LOCAL work_mem = '256MB'", "SET LOCAL jit = off"])
      let (compared, wrong) = try await transaction.query(
        """
        SELECT sum(compared)::bigint, sum(wrong)::bigint FROM (
          SELECT count(*) AS compared, count(*) FILTER (WHERE kept.form IS DISTINCT FROM found.form) AS wrong
          FROM searched_accounts kept FULL JOIN searchable_accounts found USING (account_id)
          UNION ALL
          SELECT count(*), count(*) FILTER (WHERE kept.form IS DISTINCT FROM found.form)
          FROM searched_posts kept FULL JOIN searchable_posts found USING (post_id)
        ) tables
        """, timeout: .seconds(3600))[0].decode(Int.self, Int.self)
      return SearchAudit(compared: compared, wrong: wrong)
    }
  }
}
