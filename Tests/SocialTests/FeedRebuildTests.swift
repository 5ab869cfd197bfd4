import DurableJobs
import DurableJobsPostgres
import LibPQClient
import TestSupport
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(3))) struct FeedRebuildTests {
  /// Concurrent follows, unfollows, posts and deletions while all feeds are rebuilt repeatedly: in any interleaving of
  /// statements, no stale row is left and none is missing.
  @Test(arguments: [UInt64.random(in: 0...UInt64.max), 1])
  func rebuildBesideEverythingElse(seed: UInt64) async throws {
    print("rebuildBesideEverythingElse: seed \(seed)")
    try await App.run(connections: 24) { app in
      // Ids a few thousand apart, so that followers map to several of an author's locks.
      try await app.pool.execute("ALTER SEQUENCE accounts_id_seq INCREMENT BY 9973")
      let authors = try await app.accounts(3, "author")
      let fans = try await app.accounts(12, "fan")
      for author in authors {
        for fan in fans.prefix(6) { try await app.follow(author, by: fan) }
        for number in 0..<5 { try await app.post("\(number)", by: author) }
      }
      try await app.drain()
      // Rows of non-followers, which become right when they follow, and missing rows of followers.
      try await app.pool.execute(
        """
        INSERT INTO following_user_posts (user_id, post_id)
        SELECT f.id, p.id FROM accounts f, posts p WHERE f.id = ANY (\(Array(fans.suffix(6))))
        """)
      try await app.pool.execute(
        "DELETE FROM following_user_posts WHERE user_id = ANY (\(Array(fans.prefix(3)))) AND post_id % 2 = 0")
      try await app.pool.transaction { try await $0.executeScript(slowCommits) }
      try await app.working {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for task in 0..<4 {
            group.addTask { try await storm(app, authors, fans, seed: seed &+ UInt64(task)) }
          }
          group.addTask {
            // At least one rebuild completes, and the last ends while the others still make changes, or just after.
            for _ in 0..<8 { _ = try await FeedRebuild(account: nil).run(on: app.pool) }
          }
          group.addTask {
            for fan in fans { _ = try await FeedRebuild(account: fan).run(on: app.pool) }
          }
          try await group.waitForAll()
        }
        try await app.waitForJobs()
      }
      try await app.expectExactFeeds()
    }
  }

  /// A follow finds a stale row in the feed and adds none: if the rebuild removed that row as stale, it would be
  /// missing.
  @Test func rebuildWaitsForAFollowThatFoundAStaleRow() async throws {
    try await App.run { app in
      let author = try await app.account("author")
      let fan = try await app.account("fan")
      let post = try await app.post(by: author)
      try await app.drain()
      try await app.pool.execute("INSERT INTO following_user_posts (user_id, post_id) VALUES (\(fan), \(post))")
      try await app.interleave {
        try await Follows.follow(author, by: fan, in: $0)
      } with: {
        _ = try await FeedRebuild(account: nil).run(on: app.pool)
      }
      try await app.drain()
      try await app.expectExactFeeds()
    }
  }

  private func storm(_ app: App, _ authors: [Int], _ fans: [Int], seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    var posts: [(id: Int, author: Int)] = []
    for _ in 0..<60 {
      let author = authors[Int.random(in: authors.indices, using: &random)]
      let fan = fans[Int.random(in: fans.indices, using: &random)]
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<4: try await app.follow(author, by: fan)
      case 4..<7: try await app.unfollow(author, by: fan)
      case 7..<9: posts.append((try await app.post(by: author), author))
      default:
        if let post = posts.popLast() { try await app.delete(post.id, by: post.author) }
      }
    }
  }
}
