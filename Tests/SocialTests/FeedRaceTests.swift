import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient
import TestSupport
import Testing

@testable import Social

/// Provokes each race between operations that add rows to feeds and operations that change which rows belong there. One
/// transaction is held open after its last statement; the other one begins and must wait, or must not need to.
@Suite(.timeLimit(.minutes(2))) struct FeedRaceTests {
  @Test func postWaitsForAFollowThatHasReadThePosts() async throws {
    try await race { app, author, fan, _ in
      try await app.interleave {
        try await Follows.follow(author, by: fan, in: $0)
      } with: {
        try await app.postAndFanOut(by: author)
      }
    }
  }

  @Test func followWaitsForAPostAndSeesIt() async throws {
    try await race { app, author, fan, _ in
      try await app.interleave {
        _ = try await Posts.create(try PostDraft(title: "new"), by: author, in: $0)
      } with: {
        try await app.follow(author, by: fan)
      }
    }
  }

  @Test func unfollowWaitsForAChunkAndTakesItsRowOut() async throws {
    try await race(following: true) { app, author, fan, post in
      try await app.interleave {
        try await chunk(post, author).run(in: $0.sql)
      } with: {
        try await app.unfollow(author, by: fan)
      }
      #expect(try await app.count("SELECT count(*) FROM following_user_posts WHERE user_id = \(fan)") == 0)
    }
  }

  @Test func chunkWaitsForAnUnfollowAndLeavesTheFollowerOut() async throws {
    try await race(following: true) { app, author, fan, post in
      try await app.interleave {
        _ = try await Follows.unfollow(author, by: fan, in: $0)
      } with: {
        try await app.pool.transaction { try await chunk(post, author).run(in: $0) }
      }
      #expect(try await app.count("SELECT count(*) FROM following_user_posts WHERE user_id = \(fan)") == 0)
    }
  }

  @Test func deletionWaitsForAChunk() async throws {
    try await race(following: true) { app, author, _, post in
      try await app.interleave {
        try await chunk(post, author).run(in: $0.sql)
      } with: {
        try await app.deleteAndPurge(post, by: author)
      }
    }
  }

  @Test func chunkWaitsForADeletionAndAddsNothing() async throws {
    try await race(following: true) { app, author, _, post in
      // The purge completes before the chunk's turn: a row added now would stay.
      try await app.interleave {
        try await Posts.delete(post, by: author, in: $0)
        try await RemovePostFromFeeds(post: post, author: author).run(in: $0)
      } with: {
        try await app.pool.transaction { try await chunk(post, author).run(in: $0) }
      }
      #expect(try await app.feedRows().isEmpty)
    }
  }

  @Test func fanOutWaitsForADeletion() async throws {
    try await race(following: true) { app, author, _, post in
      try await app.interleave {
        try await Posts.delete(post, by: author, in: $0)
      } with: {
        try await app.client.transaction { try await PostFanOut(post: post, author: author).run(in: $0) }
      }
      #expect(try await app.count("SELECT count(*) FROM fan_outs") == 0)
    }
  }

  @Test func unfollowWaitsForABackfill() async throws {
    try await race(following: true) { app, author, fan, _ in
      try await app.interleave {
        try await FeedBackfill(follower: fan, followee: author, before: .max).run(in: $0)
      } with: {
        try await app.unfollow(author, by: fan)
      }
      #expect(try await app.count("SELECT count(*) FROM following_user_posts WHERE user_id = \(fan)") == 0)
    }
  }

  @Test func backfillWaitsForAnUnfollowAndAddsNothing() async throws {
    try await race(following: true) { app, author, fan, _ in
      try await app.interleave {
        _ = try await Follows.unfollow(author, by: fan, in: $0)
      } with: {
        try await app.client.transaction {
          try await FeedBackfill(follower: fan, followee: author, before: .max).run(in: $0)
        }
      }
      #expect(try await app.count("SELECT count(*) FROM following_user_posts WHERE user_id = \(fan)") == 0)
    }
  }

  @Test func deletionWaitsForABackfill() async throws {
    try await race(following: true) { app, author, fan, post in
      try await app.interleave {
        try await FeedBackfill(follower: fan, followee: author, before: .max).run(in: $0)
      } with: {
        try await app.deleteAndPurge(post, by: author)
      }
    }
  }

  @Test func deletionWaitsForAFollowThatHasReadThePosts() async throws {
    try await race { app, author, fan, post in
      try await app.interleave {
        try await Follows.follow(author, by: fan, in: $0)
      } with: {
        try await app.deleteAndPurge(post, by: author)
      }
    }
  }

  @Test func followWaitsForADeletionAndDoesNotSeeThePost() async throws {
    try await race { app, author, fan, post in
      try await app.interleave {
        try await Posts.delete(post, by: author, in: $0)
        try await RemovePostFromFeeds(post: post, author: author).run(in: $0)
      } with: {
        try await app.follow(author, by: fan)
      }
      #expect(try await app.count("SELECT count(*) FROM following_user_posts WHERE user_id = \(fan)") == 0)
    }
  }

  @Test func unfollowTakesOutRowsOfPostsThatAreDeletedAndNotYetPurged() async throws {
    try await race(following: true) { app, author, fan, post in
      try await app.drain()
      try await app.delete(post, by: author)
      try await app.unfollow(author, by: fan)
      // The purge would not find it, since it goes by follows.
      #expect(try await app.count("SELECT count(*) FROM following_user_posts WHERE user_id = \(fan)") == 0)
    }
  }

  @Test func purgeAndUnfollowTakeTurns() async throws {
    try await race(following: true) { app, author, fan, post in
      try await app.drain()
      try await app.delete(post, by: author)
      try await app.interleave {
        _ = try await Follows.unfollow(author, by: fan, in: $0)
      } with: {
        try await app.client.transaction { try await RemovePostFromFeeds(post: post, author: author).run(in: $0) }
      }
    }
  }

  @Test func followOfWhatIsBeingUnfollowedWaits() async throws {
    try await race(following: true) { app, author, fan, _ in
      try await app.drain()
      try await app.interleave {
        _ = try await Follows.unfollow(author, by: fan, in: $0)
      } with: {
        let isNew = try await app.follow(author, by: fan)
        #expect(isNew)
      }
      #expect(try await app.count("SELECT count(*) FROM following_user_posts WHERE user_id = \(fan)") == 1)
    }
  }

  @Test func chunksOfOneRangeDoNotWaitForUnfollowsInAnother() async throws {
    try await App.run { app in
      let author = try await app.account("author")
      // Ids so far apart that they map to different ones of the author's sixteen locks.
      try await app.pool.pipeline([
        "ALTER SEQUENCE accounts_id_seq RESTART WITH 70000", "SELECT nextval('accounts_id_seq')",
      ])
      let (near, far) = (5, 70_001)
      try await app.pool.execute("INSERT INTO follows SELECT unnest(\([near, far])), \(author)")
      let post = try await app.post(by: author)
      let held = try await app.hold { _ = try await Follows.unfollow(author, by: far, in: $0) }
      try await app.pool.transaction {
        try await PostFanOutChunk(post: post, author: author, first: 0, pastLast: 65_536).run(in: $0)
      }
      #expect(try await app.feedRows() == [FeedRow(user: near, post: post)])
      try await held.commit()
    }
  }

  private func chunk(_ post: Int, _ author: Int) -> PostFanOutChunk {
    PostFanOutChunk(post: post, author: author, first: 0, pastLast: .max)
  }

  /// Runs `body` with an author, one of his posts, and a fan; then all jobs; then every feed must be exact.
  private func race(
    following: Bool = false, _ body: @Sendable (App, _ author: Int, _ fan: Int, _ post: Int) async throws -> Void
  ) async throws {
    try await App.run { app in
      let author = try await app.account("author")
      let fan = try await app.account("fan")
      let other = try await app.account("other")
      try await app.follow(author, by: other)
      if following { try await app.follow(author, by: fan) }
      let post = try await app.post("the first", by: author)
      try await body(app, author, fan, post)
      try await app.drain()
      try await app.expectExactFeeds()
      #expect(try await app.count("SELECT count(*) FROM deleted_posts") == 0)
    }
  }
}

/// A transaction that has run its statements and waits for permission to commit.
struct HeldTransaction: Sendable {
  fileprivate let gate: AsyncStream<Void>.Continuation
  fileprivate let task: Task<Void, any Error>

  func commit() async throws {
    gate.finish()
    try await task.value
  }
}

extension App {
  /// Runs `body` in a transaction and returns before it commits.
  func hold(_ body: @escaping @Sendable (AppTransaction) async throws -> Void) async throws -> HeldTransaction {
    let (reached, reachedContinuation) = AsyncStream.makeStream(of: Void.self)
    let (gate, gateContinuation) = AsyncStream.makeStream(of: Void.self)
    let client = self.client
    let task = Task {
      defer { reachedContinuation.finish() }
      try await client.transaction { transaction in
        try await body(transaction)
        reachedContinuation.finish()
        for await _ in gate {}
      }
    }
    for await _ in reached {}
    return HeldTransaction(gate: gateContinuation, task: task)
  }

  /// Posts, and runs the fan-out at once; no job is left that could repair an error.
  func postAndFanOut(by author: Int) async throws {
    let post = try await post(by: author)
    try await client.transaction { try await PostFanOut(post: post, author: author).run(in: $0) }
    try await pool.execute("DELETE FROM jobs WHERE payload::json ->> 'post' = \(String(post))")
  }

  /// Deletes a post, and purges it at once; no job is left that could repair an error.
  func deleteAndPurge(_ post: Int, by author: Int) async throws {
    try await delete(post, by: author)
    try await client.transaction { try await RemovePostFromFeeds(post: post, author: author).run(in: $0) }
    try await pool.execute("DELETE FROM jobs WHERE payload::json ->> 'post' = \(String(post))")
  }

  /// Holds `first` open, starts `second`, waits until it waits for a lock or has ended, and then commits `first`.
  func interleave(
    _ first: @escaping @Sendable (AppTransaction) async throws -> Void,
    with second: @escaping @Sendable () async throws -> Void
  ) async throws {
    let held = try await hold(first)
    let (ended, endedContinuation) = AsyncStream.makeStream(of: Void.self)
    let follower = Task {
      defer { endedContinuation.finish() }
      try await second()
    }
    let watcher = Task {
      for await _ in ended {}
      return
    }
    let pool = self.pool
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await watcher.value }
      group.addTask {
        try await eventually {
          let waiting = try await pool.query(
            """
            SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
              AND cardinality(pg_blocking_pids(pid)) > 0
            """)
          return try waiting[0].decode(Int.self) > 0
        }
      }
      try await group.next()
      group.cancelAll()
      endedContinuation.finish()
    }
    try await held.commit()
    try await follower.value
  }
}
