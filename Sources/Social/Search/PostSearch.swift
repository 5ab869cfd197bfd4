import LibPQClient

/// Finds posts by their content.
public enum PostSearch {
  /// A page of the posts whose title and first 500 characters of the description contain each word of `query`, newest
  /// first. An empty query lists the newest.
  ///
  /// - Throws: `invalid_query`.
  public static func find(
    _ query: String, seenBy viewer: Int, _ page: PageRequest, in reader: some SocialReader
  ) async throws -> Page<Post> {
    try await self.page(query, page) {
      try await find([SearchRound(searcher: .account(viewer), query: query, place: $0, count: $1)], in: reader)[0].rows
    }
  }

  /// - Parameter rows: finds up to `count` posts below `place`.
  static func page(
    _ query: String, _ page: PageRequest, _ rows: (_ place: Int, _ count: Int) async throws -> [Page<Post>.Row]
  ) async throws -> Page<Post> {
    try FieldRules.text(query, "query", SearchQuery.lengths)
    return try await Page.filled(from: page.cursor, limit: page.limit, rows)
  }

  /// Several searches by one statement.
  static func find(_ rounds: [SearchRound], in reader: some SocialReader) async throws -> [SearchRound.Found<Post>] {
    let rows = try await reader.rows(
      """
      WITH \(SearchRound.table(rounds))
      SELECT \(unescaped: Post.columns), \(Likes.isLiked(by: "asked.viewer")), \(Visibility.showsPost("asked.viewer")),
        found.place, asked.viewer, asked.n
      FROM asked LEFT JOIN LATERAL search_posts(asked.query, asked.place, asked.most) found ON true
      LEFT JOIN posts p ON p.id = found.post LEFT JOIN accounts a ON a.id = p.author_id
      ORDER BY asked.n, found.place DESC
      """)
    var found = [SearchRound.Found<Post>](repeating: .init(), count: rounds.count)
    for row in rows {
      let (viewer, number) = (try Int(postgres: row[17]), try Int(postgres: row[18]) - 1)
      found[number].viewer = viewer
      // A search that finds nothing has one row, for the session.
      if !row[16].isNull { found[number].rows.append(try Post.listed(row: row, seenBy: viewer)) }
    }
    return found
  }
}
