import LibPQClient

/// A range of account ids that contains one chunk's worth of an author's followers.
struct FollowerRange: Sendable, Hashable {
  var first: Int
  /// The first id after the range.
  var pastLast: Int
  /// How many followers it contained.
  var followers: Int

  /// Cuts all possible ids into ranges, so that a follower who arrives meanwhile is in one of them.
  static func cut(followersOf author: Int, in transaction: PostgresTransaction) async throws -> [FollowerRange] {
    let rows = try await transaction.query(
      "SELECT first, past_last, followers FROM cut_followers(\(author), \(Int32(FeedSizes.current.chunk)))")
    return try rows.decode(Int.self, Int.self, Int.self).map { row in
      FollowerRange(first: row.0, pastLast: row.1, followers: row.2)
    }
  }
}
