import DurableJobs
import Foundation
import LibPQClient
import LocalStack
import ProgramTestSupport
import Social
import TestSupport
import Testing

/// A worker that removes a deleted account's rows is killed with -9 at an arbitrary moment.
@Suite("A worker killed while it removes an account", .timeLimit(.minutes(15)))
struct KilledDeletionTests {
  @Test("Nothing of the account is left in the end, no file either, and every count is right")
  func deletion() async throws {
    var random = SeededGenerator("a deletion under kill -9")
    let pauses = (0..<20).map { _ in Int.random(in: 0...30, using: &random) }
    try await TestStack.with { stack in
      let store = MediaFolder(path: stack.mediaFolder)
      try await populate(stack)
      for number in 0..<10 { try await upload(number, into: store, stack) }
      var settings = stack.settings
      settings["FANMILL_WORKER_PORT"] = "0"
      let first = try BuiltProgram("fanmill-worker").start([], environment: settings)
      // Pictures are made only when no other process needs the CPU.
      try await eventually("all is set up", within: .seconds(300)) {
        try await stack.count("SELECT count(*) FROM jobs") == 0
      }
      first.send(SIGTERM)
      _ = await first.outcome()
      let audit = try await MediaAudit.run(store, on: stack.pool)
      #expect(audit.expected == 10 * 7, "\(audit)")

      try await stack.client.transaction { transaction in
        try await Deletions.delete(try await Accounts.id(of: "ann", in: transaction.sql), in: transaction)
      }
      var kills = 0
      for pause in pauses {
        let worker = try BuiltProgram("fanmill-worker").start([], environment: settings)
        let before = try await rows(stack)
        try await eventually("it removes something") {
          if before == 0 { return true }
          return try await rows(stack) < before
        }
        if before > 0 { kills += 1 }
        // In the middle of the next step.
        try await Task.sleep(for: .milliseconds(pause))
        worker.send(SIGKILL)
        _ = await worker.outcome()
      }
      #expect(kills == 20, "the account was gone before the worker was killed 20 times")
      let last = try BuiltProgram("fanmill-worker").start([], environment: settings)
      try await eventually("no job is left", within: .seconds(150)) {
        try await stack.count("SELECT count(*) FROM jobs") == 0
      }
      last.send(SIGTERM)
      _ = await last.outcome()
      #expect(try await stack.count("SELECT count(*) FROM dead_jobs") == 0)
      let leftovers = try await LeftoverAudit.run(on: stack.pool)
      #expect(leftovers.isClean && leftovers.removing == 0, "\(leftovers)")
      #expect(try await FeedAudit.run(on: stack.pool).isExact)
      #expect(try await NotificationAudit.run(on: stack.database).isExact)
      #expect(try await PostCountAudit.run(on: stack.pool).isExact)
      #expect(try await FanLevelAudit.run(on: stack.pool).isExact)
      #expect(try await RankingAudit.run(on: stack.database).isExact)
      let media = try await MediaAudit.run(store, on: stack.pool)
      #expect(media.isExact && media.expected == 0 && media.orphaned.isEmpty, "\(media)")
      #expect(try await stack.count("SELECT count(*) FROM messages WHERE owner_id <> 1") == 600)
    }
  }

  /// The number of rows of the account.
  private func rows(_ stack: TestStack) async throws -> Int {
    try await stack.count(
      """
      SELECT (SELECT count(*) FROM posts WHERE author_id = 1) + (SELECT count(*) FROM likes WHERE account_id = 1)
        + (SELECT count(*) FROM comments WHERE account_id = 1)
        + (SELECT count(*) FROM follows WHERE 1 IN (follower_id, followee_id))
        + (SELECT count(*) FROM notifications WHERE 1 IN (owner_id, actor_id))
        + (SELECT count(*) FROM following_user_posts WHERE user_id = 1)
        + (SELECT count(*) FROM messages WHERE owner_id = 1) + (SELECT count(*) FROM media)
        + (SELECT count(*) FROM deleted_posts)
      """)
  }

  /// Account 1, ann, and 3,000 others: each step of a removal takes several jobs.
  private func populate(_ stack: TestStack) async throws {
    try await stack.pool.execute(
      "INSERT INTO accounts (username) SELECT CASE i WHEN 1 THEN 'ann' ELSE 'a' || i END FROM generate_series(1, 3001) i"
    )
    try await stack.pool.execute(
      """
      INSERT INTO follows (follower_id, followee_id, is_announced)
      SELECT 1, id, true FROM accounts WHERE id > 1 UNION ALL SELECT id, 1, true FROM accounts WHERE id > 1
      """)
    try await stack.pool.execute(
      """
      INSERT INTO posts (author_id, title)
      SELECT author, 'post ' || n FROM (
        SELECT 1 AS author, n FROM generate_series(1, 250) n UNION ALL SELECT n, n FROM generate_series(2, 2001) n
      ) wanted
      """)
    try await stack.pool.execute(
      """
      INSERT INTO following_user_posts (user_id, post_id)
      SELECT f.follower_id, p.id FROM posts p JOIN follows f ON f.followee_id = p.author_id
      """, timeout: .seconds(120))
    try await stack.pool.execute(
      "INSERT INTO likes (post_id, account_id) SELECT id, 1 FROM posts UNION ALL SELECT id, 2 FROM posts WHERE author_id = 1"
    )
    try await stack.pool.execute(
      """
      INSERT INTO comments (post_id, account_id, text)
      SELECT id, 1, 'nice' FROM posts UNION ALL SELECT id, 2, 'nice' FROM posts WHERE author_id = 1
      """)
    try await stack.client.transaction { transaction in
      let likes = try await transaction.sql.query(
        """
        SELECT l.post_id, l.account_id, p.author_id FROM likes l JOIN posts p ON p.id = l.post_id
        WHERE l.account_id <> p.author_id
        """
      ).decode(Int.self, Int.self, Int.self)
      try await transaction.enqueue(likes.map { NotificationUpdate(like: $0.0, by: $0.1, to: $0.2) })
      let comments = try await transaction.sql.query(
        """
        SELECT c.id, c.post_id, c.account_id, p.author_id FROM comments c JOIN posts p ON p.id = c.post_id
        WHERE c.account_id <> p.author_id
        """
      ).decode(Int.self, Int.self, Int.self, Int.self)
      try await transaction.enqueue(
        comments.map { NotificationUpdate(comment: $0.0, on: $0.1, by: $0.2, to: $0.3) })
      let follows = try await transaction.sql.query("SELECT followee_id, follower_id FROM follows").decode(
        Int.self, Int.self)
      try await transaction.enqueue(follows.map { NotificationUpdate(followOf: $0.0, by: $0.1) })
    }
    try await stack.pool.transaction { transaction in
      for number in 0..<600 {
        _ = try await Messages.send(
          try MessageDraft(text: "message \(number)"), to: "a\(2 + number % 100)", by: 1, in: transaction, limit: .max)
      }
    }
    let celeb = try CelebAccount(platform: "instagram", account: "star")
    for fan in [1, 2] {
      _ = try await stack.client.transaction { try await Celebs.register(celeb, by: fan, in: $0) }
      _ = try await stack.client.transaction { try await Hearts.give([Heart(to: celeb, by: fan)], in: $0) }
    }
  }

  private func upload(_ number: Int, into store: MediaFolder, _ stack: TestStack) async throws {
    let bytes = StoredPNG(width: 30, height: 20) { x, y in [UInt8(x & 255), UInt8(y), UInt8(number)] }.bytes
    let path = NSTemporaryDirectory() + "fanmill-upload-\(UUID().uuidString)"
    try Data(bytes).write(to: URL(filePath: path))
    defer { unlink(path) }
    let file = MediaFile()
    try await store.put(path, at: file.original, contentType: "image/png")
    _ = try await stack.client.transaction { transaction in
      try await MediaLibrary.add(
        MediaUpload(
          hash: [UInt8](repeating: UInt8(number), count: 32), bytes: bytes.count, header: PictureHeader(path: path)),
        stored: file, by: 1, quota: .max, in: transaction
      ).id
    }
  }
}
