import LibPQClient
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(2))) struct FeedAuditTests {
  @Test func findsEveryDifferenceBothWays() async throws {
    try await App.run { app in
      let ids = try await app.accounts(10)
      for follower in ids[1...] { try await app.follow(ids[0], by: follower) }
      let posts = [try await app.post(by: ids[0]), try await app.post(by: ids[0])]
      #expect(try await FeedAudit.run(on: app.pool).pending == 2)
      try await app.drain()
      let exact = try await FeedAudit.run(on: app.pool)
      #expect(exact.isExact && exact.expected == 18 && exact.found == 18 && exact.pending == 0)
      try await app.pool.execute("DELETE FROM following_user_posts WHERE user_id = \(ids[3])")
      try await app.pool.execute(
        "INSERT INTO following_user_posts VALUES (\(ids[0]), \(posts[1])), (4711, \(posts[0]))")
      try await app.pool.execute("INSERT INTO following_user_posts VALUES (\(ids[1]), 4711)")
      let audit = try await FeedAudit.run(on: app.pool)
      #expect(!audit.isExact && audit.missing == 2 && audit.stale == 3)
      #expect(Set(audit.missingRows.map(\.post)) == Set(posts))
      #expect(audit.missingRows.allSatisfy { $0.user == ids[3] && $0.username == "account4" })
      #expect(
        Set(audit.staleRows) == [
          FeedAudit.Row(username: "account1", user: ids[0], post: posts[1]),
          FeedAudit.Row(username: "(no account 4711)", user: 4711, post: posts[0]),
          FeedAudit.Row(username: "account2", user: ids[1], post: 4711),
        ])
      #expect(try await FeedAudit.run(examples: 1, on: app.pool).staleRows.count == 1)
    }
  }
}
