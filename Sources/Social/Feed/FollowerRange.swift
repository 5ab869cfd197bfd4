import LibPQClient

/// A range of account ids that holds as many of an author's followers as one chunk does.
struct FollowerRange: Sendable, Hashable {
  var first: Int
  /// The first id behind the range.
  var pastLast: Int
  /// How many followers were there.
  var followers: Int

  /// Ranges that together hold every possible id, so that who follows meanwhile is in one of them.
  static func cut(followersOf author: Int, in transaction: PostgresTransaction) async throws -> [FollowerRange] {
    let rows = try await transaction.query(
      "SELECT first, past_last, followers FROM cut_followers(\(author), \(Int32(FeedSizes.current.chunk)))")
    return try rows.decode(Int.self, Int.self, Int.self).map { row in
      FollowerRange(first: row.0, pastLast: row.1, followers: row.2)
    }
  }
}
