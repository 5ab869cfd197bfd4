import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient
import Locking
import TestSupport
import Testing

@testable import Social

/// Many accounts follow, unfollow, post and delete concurrently, with workers running; at the end every feed must match
/// a simple model.
@Suite(.timeLimit(.minutes(3))) struct FeedModelTests {
  /// The follows and posts, from each account's own actions.
  private struct Model: Sendable {
    var follows: [Int: Set<Int>] = [:]
    var posts: [Int: Set<Int>] = [:]

    var feeds: Set<FeedRow> {
      var rows: Set<FeedRow> = []
      for (follower, followees) in follows {
        for followee in followees {
          for post in posts[followee, default: []] { rows.insert(FeedRow(user: follower, post: post)) }
        }
      }
      return rows
    }
  }

  @Test(arguments: [UInt64.random(in: 0...UInt64.max), UInt64.random(in: 0...UInt64.max), 1])
  func feedsAreWhatTheModelSays(seed: UInt64) async throws {
    print("feedsAreWhatTheModelSays: seed \(seed)")
    try await FeedSizes.$current.withValue(FeedSizes(chunk: 3, followAtOnce: 2, backfillPage: 2)) {
      try await App.run(connections: 24) { app in
        // Ids a few thousand apart, so that followers map to several of an author's locks.
        try await app.pool.execute("ALTER SEQUENCE accounts_id_seq INCREMENT BY 9973")
        let accounts = try await app.accounts(14)
        try await app.pool.transaction { try await $0.executeScript(slowCommits) }
        let model = Locked(Model())
        try await app.working {
          // Short rounds, each checked: later rounds would often repair the errors of earlier ones.
          for round in 0..<12 {
            try await withThrowingTaskGroup(of: Void.self) { group in
              for (index, account) in accounts.enumerated() {
                group.addTask {
                  var random = SeededGenerator(seed: seed &+ UInt64(round * 1000 + index) &* 0x9E37_79B9_7F4A_7C15)
                  try await act(as: account, among: accounts, app, model, &random)
                }
              }
              try await group.waitForAll()
            }
            try await app.waitForJobs()
            let expected = model.withLock { $0.feeds }
            let found = try await app.feedRows()
            try #require(
              found == expected,
              """
              seed \(seed), round \(round): missing \(expected.subtracting(found).prefix(10)), \
              stale \(found.subtracting(expected).prefix(10)) of \(expected.count) rows
              """)
          }
        }
        try await app.expectExactFeeds()
        #expect(try await app.count("SELECT count(*) FROM deleted_posts") == 0)
        #expect(
          try await app.count("SELECT count(*) FROM fan_outs WHERE finished_at IS NULL OR delivered <> followers") == 0)
      }
    }
  }

  /// An account's actions in sequence. Its follows and posts are its own, so the model knows them; concurrency is only
  /// between accounts.
  private func act(
    as account: Int, among accounts: [Int], _ app: App, _ model: Locked<Model>, _ random: inout SeededGenerator
  ) async throws {
    // Two accounts post all the time and the others usually follow and unfollow them: races are between a post and a
    // follow of one author.
    let celebrities = Array(accounts.prefix(2))
    let isCelebrity = celebrities.contains(account)
    for step in 0..<6 {
      let follows = model.withLock { $0.follows[account, default: []] }
      let posts = model.withLock { $0.posts[account, default: []] }
      if Double.random(in: 0..<1, using: &random) < (isCelebrity ? 0.85 : 0.1) {
        // The latest more often than others: its fan-out may be in progress.
        let candidate = Bool.random(using: &random) ? posts.max() : posts.sorted().randomElement(using: &random)
        if let post = candidate, Int.random(in: 0..<3, using: &random) == 0 {
          try await app.delete(post, by: account)
          model.withLock { _ = $0.posts[account, default: []].remove(post) }
        } else {
          let post = try await app.post("\(step)", by: account)
          model.withLock { _ = $0.posts[account, default: []].insert(post) }
        }
      } else {
        let crowd = (isCelebrity || step % 8 == 0 ? accounts : celebrities).filter { $0 != account }
        guard let other = crowd.randomElement(using: &random) else { continue }
        if follows.contains(other), Int.random(in: 0..<8, using: &random) > 0 {
          #expect(try await app.unfollow(other, by: account))
          model.withLock { _ = $0.follows[account, default: []].remove(other) }
        } else {
          #expect(try await app.follow(other, by: account) == !follows.contains(other))
          model.withLock { _ = $0.follows[account, default: []].insert(other) }
        }
      }
    }
  }
}

/// Makes one transaction in eight wait for 80 ms before it commits, with its statements done and its locks held, so
/// that others can run completely meanwhile. Otherwise such races are open for microseconds.
let slowCommits = """
  CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF random() < 0.125 THEN PERFORM pg_sleep(0.08); END IF; RETURN NULL; END $$;
  CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT OR DELETE ON follows
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dawdle();
  CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT OR DELETE ON posts
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dawdle();
  CREATE CONSTRAINT TRIGGER dawdle AFTER DELETE ON jobs.jobs
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dawdle();
  """
