import DurableJobs
import Foundation
import LibPQClient
import Testing

@testable import Social

/// A request's reads must not grow with the number of fans, likes, followees or lookups. Postgres counts them, in rows.
@Suite(.timeLimit(.minutes(2))) struct ReadCostTests {
  @Test func aCertificateReadsFewFans() async throws {
    try await App.run { app in
      let fan = try await app.account("fan")
      let channel = try CelebAccount.channel(1)
      try await app.register(channel, by: fan)
      // Ranked before it: half of them with more hearts and half with as many.
      try await app.pool.execute(
        """
        INSERT INTO celeb_fans (account_id, celeb_id, since, hearts, reached_at)
        SELECT 1000 + i, c.id, now() - interval '1 day', i % 2, now() - interval '1 day'
        FROM celebs c, generate_series(1, 40000) i
        """)
      try await app.pool.execute("ANALYZE celeb_fans, celeb_fan_levels")
      let (certificate, rows) = try await rowsRead(app, of: "celeb_fans", "celeb_fan_levels") {
        try await FanCertificate.issue(for: channel, of: fan, in: $0)
      }
      #expect(certificate.fans == 40_001 && certificate.rank == 20_001 + FanCertificate.tiesCounted)
      #expect(rows <= FanCertificate.tiesCounted + 50)
    }
  }

  @Test func aListOfCelebsReadsTheirChannelsAlone() async throws {
    try await App.run { app in
      let fan = try await app.account("fan")
      for number in 1...3 { try await app.register(try CelebAccount.channel(number), by: fan) }
      try await app.pool.execute(
        """
        INSERT INTO channels (id, title, has_details, fetched_at)
        SELECT account, 'known', true, now() FROM celebs
        UNION ALL SELECT 'UC' || lpad(i::text, 22, 'x'), 'another', true, now() FROM generate_series(1, 20000) i
        """)
      try await app.pool.execute("ANALYZE channels, celebs")
      let (celebs, rows) = try await rowsRead(app, of: "channels") { try await Celebs.list(of: fan, in: $0) }
      #expect(celebs.map(\.title) == ["known", "known", "known"])
      #expect(rows <= 3)
    }
  }

  @Test func aListOfPostsReadsNoLikes() async throws {
    try await App.run { app in
      let author = try await app.account("author")
      for number in 0..<20 { try await app.post("\(number)", by: author) }
      try await app.pool.pipeline([
        "INSERT INTO likes (post_id, account_id) SELECT p.id, i FROM posts p, generate_series(1, 1000) i",
        "INSERT INTO comments (post_id, account_id, text) SELECT p.id, i, 'x' FROM posts p, generate_series(1, 1000) i",
      ])
      // Counts of enough posts that the table is not small.
      try await app.pool.execute(
        "INSERT INTO post_counts (post_id, shard) SELECT i, 0 FROM generate_series(1, 20000) i")
      try await app.pool.execute("ANALYZE likes, comments, post_counts")
      let (page, rows) = try await rowsRead(app, of: "likes", "comments", "post_counts") {
        try await Feed.home(seenBy: 0, PageRequest(limit: 20), in: $0)
      }
      #expect(page.items.count == 20 && page.items.allSatisfy { $0.likes == 1000 && $0.comments == 1000 })
      #expect(rows <= 20 * 2 * 8)
    }
  }

  @Test func anOldPageReadsFewFollowees() async throws {
    try await App.run { app in
      let reader = try await app.account("reader")
      let (loud, stranger) = (try await app.account("loud"), try await app.account("stranger"))
      // It follows one account that posts occasionally, and 20,000 that never do.
      try await app.pool.pipeline([
        "INSERT INTO follows (follower_id, followee_id) SELECT \(reader), 100000 + i FROM generate_series(1, 20000) i",
        "INSERT INTO follows (follower_id, followee_id) VALUES (\(reader), \(loud))",
        """
        INSERT INTO posts (id, author_id, title)
        SELECT i, CASE WHEN i % 400 = 0 THEN \(loud) ELSE \(stranger) END, 'old' FROM generate_series(1, 12000) i
        """,
        "UPDATE feed_floor SET post_id = post_id_at(now())",
      ])
      try await app.pool.execute("ANALYZE follows, posts")
      var found: [Int] = []
      var cursor: Int?
      repeat {
        let request = try PageRequest(before: cursor, limit: 10)
        let (page, rows) = try await rowsRead(app, of: "follows", "posts") {
          try await Feed.following(reader, request, in: $0)
        }
        #expect(page.items.count <= 10)
        #expect(rows <= Feed.followeesProbed + 2 * Feed.postsScanned + 100)
        found += page.items.map(\.id)
        cursor = page.next
      } while cursor != nil
      #expect(found == (1...30).map { $0 * 400 }.reversed())
    }
  }

  /// Which posts a reader likes and may see must be decided without reading all the reader's likes and restrictions.
  @Test func listsOfPostsReadFewLikesAndRestrictions() async throws {
    try await App.run { app in
      let (reader, author) = (try await app.account("reader"), try await app.account("author"))
      try await app.follow(author, by: reader)
      for number in 0..<20 { try await app.post("\(number)", by: author) }
      try await app.drain()
      // Others like one post and restrict one account, so the planner expects equally few for the reader.
      try await app.pool.pipeline([
        """
        INSERT INTO likes (post_id, account_id)
        SELECT i, \(reader) FROM generate_series(1, 20000) i UNION ALL SELECT id, \(reader) FROM posts
        UNION ALL SELECT i, 1000000 + i FROM generate_series(1, 80000) i
        """,
        """
        INSERT INTO restrictions (account_id, other_id, is_blocked)
        SELECT \(reader), 1000000 + i, true FROM generate_series(1, 20000) i
        UNION ALL SELECT 1000000 + i, 1, true FROM generate_series(1, 80000) i
        """,
      ])
      try await app.pool.execute("ANALYZE likes, restrictions")
      let request = try PageRequest(limit: 20)
      let lists: [@Sendable (PostgresTransaction) async throws -> Page<Post>] = [
        { try await Feed.home(seenBy: reader, request, in: $0) },
        { try await Feed.following(reader, request, in: $0) },
        { try await PostSearch.find("", seenBy: reader, request, in: $0) },
      ]
      for (number, list) in lists.enumerated() {
        for _ in 0..<7 {  // From the sixth on the plan is the same for all.
          let (page, rows) = try await rowsRead(app, of: "likes", "restrictions", body: list)
          #expect(page.items.count == 20 && page.items.allSatisfy(\.isLiked))
          #expect(rows <= 50, "list \(number)")
        }
      }
    }
  }

  /// Whether the viewer follows the accounts of a list must be decided without reading all the viewer's follows.
  @Test func listsOfAccountsReadFewFollows() async throws {
    try await App.run { app in
      let (star, viewer) = (try await app.account("star"), try await app.account("viewer"))
      try await app.pool.pipeline([
        "INSERT INTO accounts (username) SELECT 'user-' || i FROM generate_series(1, 30000) i",
        """
        INSERT INTO follows (follower_id, followee_id)
        SELECT id, \(star) FROM accounts WHERE username LIKE 'user-%'
        UNION ALL SELECT \(viewer), id FROM accounts WHERE username LIKE 'user-%'
        """,
      ])
      try await app.pool.execute("ANALYZE follows, accounts")
      let request = try PageRequest(limit: 100)
      for _ in 0..<7 {  // From the sixth on the plan is the same for all.
        let (followers, read) = try await rowsRead(app, of: "follows") {
          try await Follows.followers(of: star, request, seenBy: viewer, in: $0)
        }
        #expect(followers.items.count == 100 && followers.items.allSatisfy(\.isFollowed))
        #expect(read <= 250)
        let (following, more) = try await rowsRead(app, of: "follows") {
          try await Follows.following(viewer, request, seenBy: viewer, in: $0)
        }
        #expect(following.items.count == 100 && following.items.allSatisfy(\.isFollowed))
        #expect(more <= 250)
      }
    }
  }

  /// The result of `body`, and the number of rows that it read from these tables.
  private func rowsRead<Value: Sendable>(
    _ app: App, of tables: String..., body: @Sendable (PostgresTransaction) async throws -> Value
  ) async throws -> (Value, Int) {
    try await app.pool.transaction { transaction in
      // Includes counts that the session has not reported yet.
      let count: PostgresQuery = """
        SELECT coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0)::bigint
        FROM pg_stat_xact_user_tables WHERE relname = ANY (\(tables))
        """
      let before = try await transaction.query(count)[0].decode(Int.self)
      let value = try await body(transaction)
      return (value, try await transaction.query(count)[0].decode(Int.self) - before)
    }
  }
}
