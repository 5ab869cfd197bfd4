import LibPQClient

/// Finds accounts by the content of their usernames, names and majors.
public enum AccountSearch {
  public typealias Found = (account: AccountSummary, isFollowed: Bool)

  /// A page of the accounts whose username, name or major contains each word of `query`, excluding `viewer`. Accounts
  /// with a field equal to the query come first, then those with a field that begins with it; newest first among
  /// equals. An empty query lists the newest.
  ///
  /// - Throws: `invalid_query`.
  public static func find(
    _ query: String, seenBy viewer: Int, _ page: PageRequest, in reader: some SocialReader
  ) async throws -> Page<Found> {
    try await self.page(query, page) {
      try await find([SearchRound(searcher: .account(viewer), query: query, place: $0, count: $1)], in: reader)[0].rows
    }
  }

  /// - Parameter rows: finds up to `count` accounts from `place` on.
  static func page(
    _ query: String, _ page: PageRequest, _ rows: (_ place: Int, _ count: Int) async throws -> [Page<Found>.Row]
  ) async throws -> Page<Found> {
    try FieldRules.text(query, "query", SearchQuery.lengths)
    return try await Page.filled(from: page.before ?? -1, limit: page.limit, rows)
  }

  /// Several searches by one statement.
  static func find(
    _ rounds: [SearchRound], in reader: some SocialReader
  ) async throws -> [SearchRound.Found<Found>] {
    let rows = try await reader.rows(
      """
      WITH \(SearchRound.table(rounds))
      SELECT asked.n, asked.viewer, found.place, \(unescaped: AccountSummary.columns),
        EXISTS (SELECT FROM follows WHERE followee_id = a.id AND follower_id = asked.viewer OFFSET 0),
        a.id <> asked.viewer AND \(Visibility.isVisible("a.id", to: "asked.viewer"))
      FROM asked LEFT JOIN LATERAL search_accounts(asked.query, asked.place, asked.most) found ON true
      LEFT JOIN accounts a ON a.id = found.account
      ORDER BY asked.n, found.place
      """)
    var found = [SearchRound.Found<Found>](repeating: .init(), count: rounds.count)
    for row in rows {
      let number = try Int(postgres: row[0]) - 1
      found[number].viewer = try Int(postgres: row[1])
      // A search that finds nothing has one row, for the session.
      guard let place = try Int?(postgres: row[2]) else { continue }
      let isShown = try !row[3].isNull && Bool(postgres: row[9])
      let item: Found? = isShown ? (try AccountSummary(row: row, at: 3), try Bool(postgres: row[8])) : nil
      found[number].rows.append((place, item))
    }
    return found
  }
}
