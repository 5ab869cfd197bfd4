import LibPQClient

/// Finds accounts by the content of their usernames, names and majors.
public enum AccountSearch {
  /// A page of the accounts whose username, name or major contains each word of `query`, excluding `viewer`. Accounts
  /// with a field equal to the query come first, then those with a field that begins with it; newest first among
  /// equals. An empty query lists the newest.
  ///
  /// - Throws: `invalid_query`.
  public static func find(
    _ query: String, seenBy viewer: Int, _ page: PageRequest, in reader: some SocialReader
  ) async throws -> Page<(account: AccountSummary, isFollowed: Bool)> {
    try FieldRules.text(query, "query", SearchQuery.lengths)
    return try await Page.filled(from: page.before ?? -1, limit: page.limit) { place, count in
      try await reader.rows(
        """
        SELECT found.place, \(unescaped: AccountSummary.columns),
          EXISTS (SELECT FROM follows WHERE followee_id = a.id AND follower_id = \(viewer) OFFSET 0),
          a.id <> \(viewer) AND \(Visibility.isVisible("a.id", to: viewer))
        FROM search_accounts(\(query), \(place), \(count)) found LEFT JOIN accounts a ON a.id = found.account
        ORDER BY found.place
        """
      ).map { row in
        let isShown = try !row[1].isNull && Bool(postgres: row[7])
        let item = isShown ? (try AccountSummary(row: row, at: 1), try Bool(postgres: row[6])) : nil
        return (try Int(postgres: row[0]), item)
      }
    }
  }
}
