import LibPQClient

/// Counts rows left by deleted accounts.
public struct LeftoverAudit: Sendable, Hashable {
  /// Accounts whose rows are still being removed.
  public let removing: Int
  /// Leftover rows of deleted accounts, by table and column. Rows of accounts still being removed do not count.
  public let rows: [String: Int]

  public var isClean: Bool { rows.isEmpty }

  /// Columns that name the account that wrote a row. Messages stay with their recipients, and hearts with the celebs.
  private static let columns = [
    "posts.author_id", "likes.account_id", "comments.account_id", "follows.follower_id", "follows.followee_id",
    "notifications.owner_id", "notifications.actor_id", "notification_counts.owner_id", "messages.owner_id",
    "conversations.owner_id", "inboxes.owner_id", "celeb_fans.account_id", "restrictions.account_id",
    "restrictions.other_id", "reports.reporter_id", "reports.account_id", "takedowns.account_id", "notices.account_id",
    "media.owner_id", "media_quotas.account_id", "idempotency_keys.account_id",
    "lookup_followers.account_id", "purchases.account_id", "purchase_tokens.account_id",
    "certificate_cards.account_id", "account_exports.account_id", "agreement_meetings.host_id",
    "agreement_meetings.joiner_id", "agreements.host_id",
    "agreements.joiner_id", "agreement_copies.account_id", "agreement_backups.account_id",
    "deleted_posts.author_id", "webhook_events.account_id", "webhook_events.other_id",
    "following_user_posts.user_id",
    "feed_readers.account_id", "feed_sleepers.account_id", "pulled_authors.author_id", "searched_accounts.account_id",
  ]

  /// Counts in one snapshot, regardless of concurrent writes.
  public static func run(on pool: PostgresPool) async throws -> LeftoverAudit {
    let counts = columns.map { name in
      let column = name.split(separator: ".")[1]
      let table = name.split(separator: ".")[0]
      return """
        SELECT '\(name)' AS place, count(*) AS rows FROM \(table) t
        WHERE \(column) <> 0 AND NOT EXISTS (SELECT FROM accounts a WHERE a.id = t.\(column))
          AND NOT EXISTS (SELECT FROM hidden_accounts h WHERE h.account_id = t.\(column))
        """
    }
    return try await pool.transaction(.snapshot) { transaction in
      try await transaction.pipeline(["SET LOCAL work_mem = '256MB'", "SET LOCAL jit = off"])
      let rows = try await transaction.query(
        PostgresQuery(unescaped: counts.joined(separator: " UNION ALL ")), timeout: .seconds(3600)
      ).decode(String.self, Int.self)
      let removing = try await transaction.query("SELECT count(*) FROM hidden_accounts WHERE is_deleted")[0]
        .decode(Int.self)
      return LeftoverAudit(
        removing: removing, rows: Dictionary(rows.filter { $0.1 > 0 }, uniquingKeysWith: { first, _ in first }))
    }
  }
}
