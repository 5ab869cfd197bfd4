import Foundation
import Jobs
import JobsPostgres
import Locking
import Postgres
import Testing

@testable import Social

/// Many accounts follow, unfollow, post and delete at once, with workers running; at the end every feed must be what a plain
/// model says.
@Suite(.timeLimit(.minutes(3))) struct FeedModelTests {
  /// What follows and posts are, by what each account did itself.
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
        // Ids a few thousand apart, so that followers fall under several of an author's locks.
        try await app.pool.execute("ALTER SEQUENCE accounts_id_seq INCREMENT BY 9973")
        let accounts = try await app.accounts(14)
        try await app.pool.transaction { try await $0.executeScript(slowCommits) }
        let model = Locked(Model())
        try await app.working {
          try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, account) in accounts.enumerated() {
              group.addTask {
                var random = SeededGenerator(seed: seed &+ UInt64(index) &* 0x9E37_79B9_7F4A_7C15)
                try await act(as: account, among: accounts, app, model, &random)
              }
            }
            try await group.waitForAll()
          }
          try await app.waitForJobs()
        }
        let expected = model.withLock { $0.feeds }
        let found = try await app.feedRows()
        #expect(
          found == expected,
          """
          seed \(seed): missing \(expected.subtracting(found).prefix(10)), stale \(found.subtracting(expected).prefix(10)) \
          of \(expected.count) rows
          """)
        try await app.expectExactFeeds()
        #expect(try await app.count("SELECT count(*) FROM deleted_posts") == 0)
        #expect(
          try await app.count("SELECT count(*) FROM fan_outs WHERE finished_at IS NULL OR delivered <> followers") == 0)
      }
    }
  }

  /// What one account does, one thing after the other. Its follows and posts are its own, so the model knows them; whatever
  /// happens at once happens between accounts.
  private func act(
    as account: Int, among accounts: [Int], _ app: App, _ model: Locked<Model>, _ random: inout SeededGenerator
  ) async throws {
    let others = accounts.filter { $0 != account }
    // Two accounts get most of the attention, as celebrities do.
    let celebrities = Array(accounts.prefix(2))
    for step in 0..<60 {
      let known = model.withLock { [$0.follows[account, default: []], $0.posts[account, default: []]] }
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<4:
        let crowd = Bool.random(using: &random) ? celebrities.filter { $0 != account } : others
        guard let other = crowd.randomElement(using: &random) else { continue }
        let isNew = try await app.follow(other, by: account)
        #expect(isNew == !known[0].contains(other))
        model.withLock { _ = $0.follows[account, default: []].insert(other) }
      case 4..<6:
        guard let other = known[0].sorted().randomElement(using: &random) else { continue }
        #expect(try await app.unfollow(other, by: account))
        model.withLock { _ = $0.follows[account, default: []].remove(other) }
      case 6..<9:
        let post = try await app.post("\(step)", by: account)
        model.withLock { _ = $0.posts[account, default: []].insert(post) }
      default:
        guard let post = known[1].sorted().randomElement(using: &random) else { continue }
        try await app.delete(post, by: account)
        model.withLock { _ = $0.posts[account, default: []].remove(post) }
      }
    }
  }
}

/// Makes transactions wait up to 4 ms before they commit, with their statements done and their locks held: races that are
/// otherwise open for microseconds.
private let slowCommits = """
  CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_sleep(random() * 0.004); RETURN NULL; END $$;
  CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT OR DELETE ON follows
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dawdle();
  CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT OR DELETE ON posts
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dawdle();
  CREATE CONSTRAINT TRIGGER dawdle AFTER DELETE ON jobs
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dawdle();
  """

/// SplitMix64: the same numbers for the same seed.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
