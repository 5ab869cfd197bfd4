import DurableJobs
import Foundation
import LibPQClient
import TestSupport
import Testing

@testable import Social

/// Posts that are pulled, and sleeping readers.
@Suite(.timeLimit(.minutes(2))) struct PulledPostTests {
  @Test func authorsPastTheLimitAreNotFannedOut() async throws {
    try await App.run { app in
      let ids = try await app.accounts(6)
      let (author, fans) = (ids[0], Array(ids[1...]))
      for fan in fans.prefix(3) { try await app.follow(author, by: fan) }
      let pushed = try await app.post(by: author, pushLimit: 3)
      for fan in fans[3...] { try await app.follow(author, by: fan) }
      let pulled = try await app.post(by: author, pushLimit: 3)
      try await app.workOff()
      #expect(try await app.feedRows(of: pushed) == fans)
      #expect(try await app.feedRows(of: pulled) == [])
      for fan in fans { #expect(try await app.feed(of: fan) == [pulled, pushed]) }
      for (post, mode) in [(pushed, FanOutProgress.Mode.push), (pulled, .pull)] {
        let progress = try await FanOutProgress.of(post, seenBy: author, in: app.pool)
        #expect(progress.mode == mode && progress.isDone && progress.delivered == progress.followers)
      }
      // Below the limit again: the next one is pushed, and the others stay as they are.
      for fan in fans[2...] { try await app.unfollow(author, by: fan) }
      let last = try await app.post(by: author, pushLimit: 3)
      try await app.workOff()
      #expect(try await app.feedRows(of: last) == Array(fans[..<2]))
      #expect(try await app.feed(of: fans[0]) == [last, pulled, pushed])
      #expect(try await app.feed(of: fans[4]) == [])
      let audit = try await FeedAudit.run(on: app.pool)
      #expect(audit.isExact && audit.pending == 0, "\(audit)")
    }
  }

  /// Follows, unfollows, posts on both sides of the limit, deletions and rebuilds, in any order and concurrently; then
  /// every feed matches follows and posts, in pages of any size.
  @Test func mixedFeedsAreExact() async throws {
    var random = SeededGenerator("mixedFeedsAreExact")
    let seed = random.next()
    try await App.run(connections: 20) { app in
      let ids = try await app.accounts(8)
      try await app.working {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for (index, id) in ids.enumerated() {
            group.addTask {
              var random = SeededGenerator(seed: seed &+ UInt64(index))
              var posts: [Int] = []
              for _ in 0..<30 {
                let other = ids.filter { $0 != id }.randomElement(using: &random)!
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<4: try await app.follow(other, by: id)
                case 4: try await app.unfollow(other, by: id)
                case 5..<8: posts.append(try await app.post(by: id, pushLimit: Int.random(in: 0...5, using: &random)))
                case 8:
                  guard let post = posts.popLast() else { continue }
                  try await app.client.transaction { try await Posts.delete(post, by: id, in: $0) }
                default:
                  // Falls asleep, and wakes by reading.
                  try await app.pool.execute(
                    "INSERT INTO feed_sleepers (account_id) VALUES (\(other)) ON CONFLICT DO NOTHING")
                  _ = try await app.feedWaking(of: other)
                }
              }
            }
          }
          try await group.waitForAll()
        }
        try await eventually("all jobs done") {
          try await app.pool.query("SELECT count(*) FROM jobs.jobs")[0].decode(Int.self) == 0
        }
      }
      for id in ids {
        let due = try await app.pool.query(
          """
          SELECT id FROM posts JOIN follows ON followee_id = author_id WHERE follower_id = \(id) ORDER BY id DESC
          """
        ).decode(Int.self)
        for limit in [1, 3, 100] { #expect(try await app.feed(of: id, limit: limit) == due) }
      }
      let audit = try await FeedAudit.run(on: app.pool)
      #expect(audit.isExact && audit.pending == 0, "\(audit)")
      #expect(try await app.pool.query("SELECT count(*) FROM feed_sleepers")[0].decode(Int.self) == 0)
      let report = try await FeedRebuild(account: nil).run(on: app.pool)
      #expect(report == FeedRebuild.Report())
    }
  }

  @Test func rebuildTakesPulledPostsOut() async throws {
    try await App.run { app in
      let ids = try await app.accounts(3)
      for fan in ids[1...] { try await app.follow(ids[0], by: fan) }
      let post = try await app.post(by: ids[0], pushLimit: 1)
      try await app.workOff()
      try await app.pool.execute("INSERT INTO following_user_posts VALUES (\(ids[1]), \(post))")
      #expect(try await !FeedAudit.run(on: app.pool).isExact)
      #expect(try await app.feed(of: ids[1]) == [post])
      #expect(try await FeedRebuild(account: nil).run(on: app.pool).removed == 1)
      #expect(try await FeedAudit.run(on: app.pool).isExact)
    }
  }

  @Test func whoSleepsIsSkippedAndFindsAll() async throws {
    var sizes = FeedSizes()
    sizes.refillFollowees = 2
    try await FeedSizes.$current.withValue(sizes) {
      try await App.run { app in
        let ids = try await app.accounts(8)
        let reader = ids[7]
        for author in ids[..<5] { try await app.follow(author, by: reader) }
        var posts = [try await app.post(by: ids[0])]
        try await app.workOff()
        // No reader falls asleep before reads have been recorded for 30 days.
        try await app.sleep(days: 30)
        #expect(try await app.sleepers() == [])
        try await app.pool.execute("UPDATE feed_sleep SET noted_since = current_date - 31")
        try await app.pool.execute("UPDATE accounts SET created_at = now() - interval '31 days' WHERE id <> \(ids[6])")
        try await FeedSleepers.note(ids[5], on: app.pool)
        try await app.sleep(days: 30)
        #expect(try await app.sleepers() == Array(ids[..<5]) + [reader])
        posts += [try await app.post(by: ids[1]), try await app.post(by: ids[2], pushLimit: 0)]
        posts += [try await app.post(by: ids[3])]
        try await app.workOff()
        #expect(try await app.feedRows(of: posts[3]) == [])
        #expect(try await FeedAudit.run(on: app.pool).isExact)
        #expect(try await FeedRebuild(account: nil).run(on: app.pool) == FeedRebuild.Report())
        // Asleep, waking, awake: always the same feed.
        for limit in [2, 100] { #expect(try await app.feed(of: reader, limit: limit) == posts.reversed()) }
        #expect(try await app.feedWaking(of: reader) == posts.reversed())
        posts.append(try await app.post(by: ids[4]))
        #expect(try await app.feedWaking(of: reader) == posts.reversed())
        try await app.workOff()
        #expect(try await !app.sleepers().contains(reader))
        #expect(try await app.feed(of: reader) == posts.reversed())
        #expect(try await app.feedRows(of: posts[0]) == [reader])
        #expect(try await FeedAudit.run(on: app.pool).isExact)
        // Turning it off resets the record of reads.
        try await app.sleep(days: 0)
        #expect(try await app.pool.query("SELECT count(*) FROM feed_sleep")[0].decode(Int.self) == 0)
      }
    }
  }
}

extension App {
  fileprivate func post(by author: Int, pushLimit: Int) async throws -> Int {
    try await client.transaction {
      try await Posts.create(try PostDraft(title: "title"), by: author, pushLimit: pushLimit, in: $0).id
    }
  }

  fileprivate func workOff() async throws {
    try await working {
      try await eventually("all jobs done") {
        try await pool.query("SELECT count(*) FROM jobs.jobs")[0].decode(Int.self) == 0
      }
    }
  }

  /// The accounts whose feeds have a row of it.
  fileprivate func feedRows(of post: Int) async throws -> [Int] {
    try await pool.query("SELECT user_id FROM following_user_posts WHERE post_id = \(post) ORDER BY 1").decode(Int.self)
  }

  fileprivate func feed(of reader: Int, limit: Int = 20) async throws -> [Int] {
    var ids: [Int] = []
    var before: Int?
    repeat {
      let page = try await Feed.following(reader, PageRequest(before: before, limit: limit), in: pool)
      ids += page.items.map(\.id)
      before = page.next
    } while before != nil
    return ids
  }

  /// Read as in the API.
  fileprivate func feedWaking(of reader: Int) async throws -> [Int] {
    let token = try await pool.transaction { try await Sessions.open(for: reader, in: $0) }
    let reading = try await BatchedFeeds(pool: pool, homesFrom: pool).following(token, PageRequest(limit: 100))
    if reading.isAsleep { try await client.transaction { try await FeedSleepers.wake(reader, in: $0) } }
    return reading.page.items.map(\.id)
  }

  fileprivate func sleep(days: Int) async throws {
    try await client.transaction { try await FeedSleep(days: days).run(in: $0) }
  }

  fileprivate func sleepers() async throws -> [Int] {
    try await pool.query("SELECT account_id FROM feed_sleepers ORDER BY 1").decode(Int.self)
  }
}
