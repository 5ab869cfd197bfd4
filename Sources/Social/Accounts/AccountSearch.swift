import LibPQClient

/// Finds accounts by the beginning of their username, name or major.
public enum AccountSearch {
  /// Up to `limit` accounts, those whose username begins with `query` first; never `viewer`.
  ///
  /// - Throws: `invalid_query` if it is empty or has more than 100 characters.
  public static func find(
    _ query: String, seenBy viewer: Int?, limit: Int = 20, in reader: some SocialReader
  ) async throws -> [(account: AccountSummary, isFollowed: Bool)] {
    let query = NormalForm.shown(query)
    try FieldRules.text(query, "query", 1...100)
    // A range of the index: from the text itself up to the text with the greatest character behind it. LIKE with a
    // parameter would not use an index once the statement has a generic plan.
    let past = query + "\u{10FFFF}"
    let rows = try await reader.rows(
      """
      SELECT \(unescaped: AccountSummary.columns),
        EXISTS (SELECT FROM follows WHERE followee_id = a.id AND follower_id = \(viewer) OFFSET 0)
      FROM (
        SELECT id, min(place) AS place FROM (
          (SELECT id, 1 AS place FROM accounts
            WHERE lower(username) COLLATE "C" >= lower(\(query)) AND lower(username) COLLATE "C" < lower(\(past))
            ORDER BY lower(username) COLLATE "C" LIMIT \(limit + 1))
          UNION ALL
          (SELECT id, 2 FROM accounts WHERE name <> ''
            AND lower(name) COLLATE "C" >= lower(\(query)) AND lower(name) COLLATE "C" < lower(\(past))
            ORDER BY lower(name) COLLATE "C" LIMIT \(limit + 1))
          UNION ALL
          (SELECT id, 3 FROM accounts WHERE major <> ''
            AND lower(major) COLLATE "C" >= lower(\(query)) AND lower(major) COLLATE "C" < lower(\(past))
            ORDER BY lower(major) COLLATE "C" LIMIT \(limit + 1))
        ) found GROUP BY id
      ) best JOIN accounts a USING (id)
      WHERE a.id IS DISTINCT FROM \(viewer) AND \(Visibility.isVisible("a.id", to: viewer))
      ORDER BY place, lower(a.username) COLLATE "C" LIMIT \(limit)
      """)
    return try rows.map { (try AccountSummary(row: $0), try Bool(postgres: $0[5])) }
  }
}
