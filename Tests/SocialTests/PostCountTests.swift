import DurableJobs
import Foundation
import LibPQClient
import Migrations
import PrivateServers
import TestSupport
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(2))) struct PostCountTests {
  @Test func countsFollowLikesAndComments() async throws {
    try await App.run { app in
      let ids = try await app.accounts(20)
      let post = try await app.post(by: ids[0])
      let other = try await app.post(by: ids[0])
      for id in ids { #expect(try await app.like(post, by: id)) }
      #expect(try await !app.like(post, by: ids[1]))
      #expect(try await app.unlike(post, by: ids[2]))
      #expect(try await !app.unlike(post, by: ids[2]))
      var comments: [Int] = []
      for id in ids.prefix(5) { comments.append(try await app.comment(post, by: id)) }
      try await app.deleteComment(comments[1], on: post, by: ids[1])
      let read = try await Posts.post(post, seenBy: 0, in: app.pool)
      #expect((read.likes, read.comments) == (19, 4))
      let untouched = try await Posts.post(other, seenBy: 0, in: app.pool)
      #expect((untouched.likes, untouched.comments) == (0, 0))
      #expect(try await PostCountAudit.run(on: app.pool).isExact)
    }
  }

  /// Above the number that counting on each read could handle.
  @Test func countsHaveNoLimit() async throws {
    try await App.run { app in
      let author = try await app.account("author")
      let post = try await app.post(by: author)
      try await app.pool.execute(
        "INSERT INTO likes (post_id, account_id) SELECT \(post), i FROM generate_series(1, 30000) i")
      #expect(try await Posts.post(post, seenBy: 0, in: app.pool).likes == 30_000)
      try await app.pool.execute("DELETE FROM likes WHERE post_id = \(post) AND account_id > 12345")
      #expect(try await Posts.post(post, seenBy: 0, in: app.pool).likes == 12_345)
      #expect(try await PostCountAudit.run(on: app.pool).isExact)
    }
  }

  @Test func countsAreExactUnderRaces() async throws {
    var random = SeededGenerator("countsAreExactUnderRaces")
    let seed = random.next()
    try await App.run(connections: 24) { app in
      let ids = try await app.accounts(12)
      var posts: [Int] = []
      for _ in 0..<3 { posts.append(try await app.post(by: ids[0])) }
      let doomed = try await app.post(by: ids[1])
      let targets = posts + [doomed]
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (index, id) in ids.enumerated() {
          group.addTask {
            var random = SeededGenerator(seed: seed &+ UInt64(index))
            var comments: [(id: Int, post: Int)] = []
            for step in 0..<25 {
              if index == 1, step == 12 { try await app.delete(doomed, by: id) }
              let post = targets[Int.random(in: targets.indices, using: &random)]
              let code = try await code {
                switch Int.random(in: 0..<5, using: &random) {
                case 0, 1: try await app.like(post, by: id)
                case 2: try await app.unlike(post, by: id)
                case 3: comments.append((try await app.comment(post, by: id), post))
                default:
                  if let comment = comments.popLast() {
                    try await app.deleteComment(comment.id, on: comment.post, by: id)
                  }
                }
              }
              #expect(code == nil || code == .notFound)
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await PostCountAudit.run(on: app.pool).isExact)
      for post in posts {
        let read = try await Posts.post(post, seenBy: 0, in: app.pool)
        #expect(try await read.likes == app.count("SELECT count(*) FROM likes WHERE post_id = \(post)"))
        #expect(try await read.comments == app.count("SELECT count(*) FROM comments WHERE post_id = \(post)"))
      }
      // A deleted post's counts go with its likes and comments.
      try await app.drain()
      #expect(try await app.count("SELECT count(*) FROM post_counts WHERE post_id = \(doomed)") == 0)
      #expect(try await PostCountAudit.run(on: app.pool).isExact)
    }
  }

  @Test func fanLevelsAreExactUnderRaces() async throws {
    var random = SeededGenerator("fanLevelsAreExactUnderRaces")
    let seed = random.next()
    try await App.run(connections: 24) { app in
      let fans = try await app.accounts(12)
      let celebs = try (0..<3).map { try CelebAccount.channel($0) }
      let start = Date(timeIntervalSince1970: 1_790_000_000)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (index, fan) in fans.enumerated() {
          group.addTask {
            var random = SeededGenerator(seed: seed &+ UInt64(index))
            for step in 0..<25 {
              let celeb = celebs[Int.random(in: celebs.indices, using: &random)]
              let now = start + Double(step) * 700
              let code = try await code {
                switch Int.random(in: 0..<6, using: &random) {
                case 0: try await app.remove(celeb, by: fan, now: now)
                case 1: try await app.register(celeb, by: fan, now: now)
                default: try await app.heart(celeb, by: fan, now: now)
                }
              }
              #expect(code == nil || code == .celebNotRegistered)
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await FanLevelAudit.run(on: app.pool).isExact)
      // Each certificate matches a count of all fans.
      for celeb in celebs {
        let ranked = try await app.pool.query(
          """
          SELECT f.account_id, f.hearts FROM celeb_fans f JOIN celebs c ON c.id = f.celeb_id
          WHERE c.account = \(celeb.name) AND f.since IS NOT NULL ORDER BY f.hearts DESC, f.reached_at, f.account_id
          """
        ).decode(Int.self, Int.self)
        for (place, (fan, hearts)) in ranked.enumerated() {
          let certificate = try await FanCertificate.issue(for: celeb, of: fan, in: app.pool)
          #expect((certificate.rank, certificate.fans, certificate.hearts) == (place + 1, ranked.count, hearts))
        }
      }
    }
  }

  @Test func auditsFindWhatIsWrongAndRecountsMendIt() async throws {
    try await App.run { app in
      let ids = try await app.accounts(4)
      let post = try await app.post(by: ids[0])
      for id in ids {
        try await app.like(post, by: id)
        try await app.comment(post, by: id)
        try await app.register(.channel(1), by: id)
      }
      try await app.pool.pipeline([
        "UPDATE post_counts SET likes = likes + 1 WHERE shard = post_count_shard(\(ids[1]))",
        "DELETE FROM post_counts WHERE shard = post_count_shard(\(ids[2]))",
        "UPDATE celeb_fan_levels SET fans = fans + 3",
      ])
      #expect(try await PostCountAudit.run(on: app.pool) == PostCountAudit(compared: 4, wrong: 2))
      #expect(try await FanLevelAudit.run(on: app.pool).wrong == 1)
      #expect(try await app.count("SELECT recount_posts()") == 2)
      #expect(try await app.count("SELECT recount_fan_levels()") == 1)
      #expect(try await PostCountAudit.run(on: app.pool).isExact)
      #expect(try await FanLevelAudit.run(on: app.pool).isExact)
      let read = try await Posts.post(post, seenBy: 0, in: app.pool)
      #expect((read.likes, read.comments) == (4, 4))
    }
  }

  /// The migration counts the likes from before the counts were stored.
  @Test func theUpgradeCountsWhatIsThere() async throws {
    try await App.run { app in
      let ids = try await app.accounts(12)
      let post = try await app.post(by: ids[0])
      for id in ids { try await app.like(post, by: id) }
      for id in ids.prefix(3) { try await app.comment(post, by: id) }
      for id in ids { try await app.register(.channel(1), by: id) }
      for id in ids.prefix(5) { try await app.heart(.channel(1), by: id) }
      let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../migrations").path
      let migrations = try Migration.all(in: folder)
      let first = try #require(migrations.firstIndex { $0.name.hasPrefix("post_counts") })
      try await DatabaseMigrator(migrations, pool: app.pool).down(migrations.count - first)
      try await DatabaseMigrator(migrations, pool: app.pool).up()
      let read = try await Posts.post(post, seenBy: 0, in: app.pool)
      #expect((read.likes, read.comments) == (12, 3))
      #expect(try await PostCountAudit.run(on: app.pool) == PostCountAudit(compared: 8, wrong: 0))
      #expect(try await FanLevelAudit.run(on: app.pool) == FanLevelAudit(compared: 2, wrong: 0))
      #expect(try await FanCertificate.issue(for: .channel(1), of: ids[4], in: app.pool).rank == 5)
    }
  }
}
