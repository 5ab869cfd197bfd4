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
    try FieldRules.text(query, "query", SearchQuery.lengths)
    return try await Page.filled(from: page.cursor, limit: page.limit) { number, count in
      try await reader.rows(
        """
        SELECT \(unescaped: Post.columns), \(Likes.isLiked(by: viewer)), \(Visibility.showsPost(viewer)), found.place
        FROM search_posts(\(query), \(number), \(count)) found
        LEFT JOIN posts p ON p.id = found.post LEFT JOIN accounts a ON a.id = p.author_id
        ORDER BY found.place DESC
        """
      ).map { try Post.listed(row: $0, seenBy: viewer) }
    }
  }
}
