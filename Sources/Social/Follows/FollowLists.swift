import LibPQClient

/// An account in a list, and whether the viewer follows it.
public struct ListedAccount: Sendable, Hashable {
  public let account: AccountSummary
  public let isFollowed: Bool
}

/// OFFSET 0 makes Postgres probe each account's follow; otherwise the planner would read everything that the viewer
/// follows.
extension Follows {
  /// A page of the followers of `account`, newest accounts first.
  public static func followers(
    of account: Int, _ page: PageRequest, seenBy viewer: Int, in reader: some SocialReader
  ) async throws -> Page<ListedAccount> {
    try await list(page, seenBy: viewer, in: reader) { cursor, count in
      """
      SELECT follower_id AS id FROM follows WHERE followee_id = \(account) AND follower_id < \(cursor)
      ORDER BY follower_id DESC LIMIT \(count)
      """
    }
  }

  /// A page of the accounts that `account` follows, newest accounts first.
  public static func following(
    _ account: Int, _ page: PageRequest, seenBy viewer: Int, in reader: some SocialReader
  ) async throws -> Page<ListedAccount> {
    try await list(page, seenBy: viewer, in: reader) { cursor, count in
      """
      SELECT followee_id AS id FROM follows WHERE follower_id = \(account) AND followee_id < \(cursor)
      ORDER BY followee_id DESC LIMIT \(count)
      """
    }
  }

  private static func list(
    _ page: PageRequest, seenBy viewer: Int, in reader: some SocialReader,
    _ window: (_ cursor: Int, _ count: Int) -> PostgresQuery
  ) async throws -> Page<ListedAccount> {
    try await Page.filled(from: page.cursor, limit: page.limit) { cursor, count in
      try await reader.rows(
        """
        SELECT w.id, \(unescaped: AccountSummary.columns),
          EXISTS (SELECT FROM follows v WHERE v.followee_id = a.id AND v.follower_id = \(viewer) OFFSET 0),
          \(Visibility.isVisible("w.id", to: viewer))
        FROM (\(window(cursor, count))) w LEFT JOIN accounts a ON a.id = w.id ORDER BY w.id DESC
        """
      ).map { row in
        let isShown = try !row[1].isNull && Bool(postgres: row[7])
        return (
          try Int(postgres: row[0]),
          isShown
            ? ListedAccount(account: try AccountSummary(row: row, at: 1), isFollowed: try Bool(postgres: row[6])) : nil
        )
      }
    }
  }
}
