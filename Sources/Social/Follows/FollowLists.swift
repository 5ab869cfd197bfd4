import LibPQClient

/// An account in a list, with whether the account that asks follows it.
public struct ListedAccount: Sendable, Hashable {
  public let account: AccountSummary
  public let isFollowed: Bool
}

/// In these lists OFFSET 0 has each account's follow probed: the planner would else read all that the viewer follows.
extension Follows {
  /// A page of who follows `account`, the newest accounts first.
  public static func followers(
    of account: Int, _ page: PageRequest, seenBy viewer: Int?, in reader: some SocialReader
  ) async throws -> Page<ListedAccount> {
    try await list(
      try await reader.rows(
        """
        SELECT a.id, a.username, a.name, a.major, \(unescaped: Accounts.avatar),
          EXISTS (SELECT FROM follows v WHERE v.followee_id = a.id AND v.follower_id = \(viewer) OFFSET 0)
        FROM follows f JOIN accounts a ON a.id = f.follower_id
        WHERE f.followee_id = \(account) AND f.follower_id < \(page.cursor)
        ORDER BY f.follower_id DESC LIMIT \(page.limit + 1)
        """), page)
  }

  /// A page of whom `account` follows, the newest accounts first.
  public static func following(
    _ account: Int, _ page: PageRequest, seenBy viewer: Int?, in reader: some SocialReader
  ) async throws -> Page<ListedAccount> {
    try await list(
      try await reader.rows(
        """
        SELECT a.id, a.username, a.name, a.major, \(unescaped: Accounts.avatar),
          EXISTS (SELECT FROM follows v WHERE v.followee_id = a.id AND v.follower_id = \(viewer) OFFSET 0)
        FROM follows f JOIN accounts a ON a.id = f.followee_id
        WHERE f.follower_id = \(account) AND f.followee_id < \(page.cursor)
        ORDER BY f.followee_id DESC LIMIT \(page.limit + 1)
        """), page)
  }

  private static func list(_ rows: PostgresRows, _ page: PageRequest) async throws -> Page<ListedAccount> {
    let accounts = try rows.decode(Int.self, String.self, String.self, String.self, String?.self, Bool.self).map {
      row in
      ListedAccount(
        account: AccountSummary(id: row.0, username: row.1, name: row.2, major: row.3, avatar: row.4),
        isFollowed: row.5)
    }
    return Page(accounts, limit: page.limit) { $0.account.id }
  }
}
