import DurableJobs
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient

/// Notifications for queued likes, written by a worker as `make build` makes it, with its default settings.
enum Notices {
  private static let likes = 100_000
  private static let authors = 1_000
  private static let postsPerAuthor = 5
  /// The number of existing notifications, the same for each author.
  private static let older = 1_000
  /// The first account with new likes; the older likes are from lower ids.
  private static let firstFan = 1_000_000
  private static let likesPerCall = 1_000
  private static let queue: QueueName = "notifications"

  /// The app's job.
  private struct Look: Job {
    static let kind: JobKind = "notifications.update"
    static let queue = Notices.queue
    var owner: Int
    var type = 0
    var actor: Int
    var post: Int
  }

  @Sendable
  static func measure(_ stage: Stage) async throws -> [Figure] {
    var figure = Figure("notifications of 100,000 waiting likes, one worker", .perSecond, [.atLeast(20_000)])
    let database = try stage.needDatabase()
    let programs = try stage.programs()
    stage.note("notifications: filling the tables")
    let posts = try await fill(database)
    for run in 1...stage.runs {
      stage.note("notifications, run \(run)")
      try await stage.flush()
      try await reset(database)
      try await like(posts, stage, database)
      try await database.pool.execute("CHECKPOINT")
      let worker = try await programs.startWorker()
      let seconds = try await stage.drain(queue, by: worker)
      try BenchError.check(
        "notifications", try await database.count("SELECT count(*) FROM notifications"),
        equals: authors * older + likes)
      // Fails unless each like has its notification and all are counted.
      try await programs.auditNotifications()
      figure.samples.append(Double(likes) / seconds)
    }
    return [figure]
  }

  /// Authors, their posts, and likes of earlier days with their notifications and counts.
  ///
  /// - Returns: each post with its author.
  private static func fill(_ database: Database) async throws -> [(id: Int, author: Int)] {
    try await database.pool.execute(
      "INSERT INTO accounts (username) SELECT 'notices-' || number FROM generate_series(1, \(authors)) number")
    try await database.pool.execute(
      """
      INSERT INTO posts (id, author_id, title)
      SELECT post_id_at(now()) + row_number() OVER (), id, 'a title'
        FROM accounts, generate_series(1, \(postsPerAuthor))
      WHERE username LIKE 'notices-%'
      """)
    try await database.pool.execute(
      """
      INSERT INTO likes (post_id, account_id, created_at)
      SELECT posts.id, 100000 + fan, now() - interval '2 days'
      FROM posts JOIN accounts a ON a.id = author_id, generate_series(1, \(older / postsPerAuthor)) fan
      WHERE username LIKE 'notices-%'
      """)
    try await database.pool.execute(
      """
      INSERT INTO notifications (owner_id, type, post_id, actor_id, created_at)
      SELECT author_id, 0, post_id, account_id, likes.created_at FROM likes JOIN posts ON posts.id = post_id
      ORDER BY account_id, post_id
      """)
    try await database.pool.execute("VACUUM ANALYZE likes, notifications, notification_counts, posts")
    return try await database.pool.query(
      "SELECT p.id, author_id FROM posts p JOIN accounts a ON a.id = author_id WHERE username LIKE 'notices-%'"
    ).decode(Int.self, Int.self).map { (id: $0.0, author: $0.1) }
  }

  /// Removes the rows of an earlier run.
  private static func reset(_ database: Database) async throws {
    try await database.pool.execute("DELETE FROM likes WHERE account_id >= \(firstFan)")
    try await database.pool.execute("DELETE FROM notifications WHERE actor_id >= \(firstFan)")
    try await database.pool.execute("VACUUM likes, notifications, notification_counts, jobs.jobs")
  }

  /// Each like goes to a random post, the same in every run.
  private static func like(
    _ posts: [(id: Int, author: Int)], _ stage: Stage, _ database: Database
  ) async throws {
    let client = JobClient(broker: stage.broker, ledger: PostgresLedger(pool: database.pool), logger: stage.logger)
    var state: UInt64 = 1
    for first in stride(from: firstFan, to: firstFan + likes, by: likesPerCall) {
      let looks = (first..<first + likesPerCall).map { fan in
        // Knuth's constants for a linear congruential generator of 64 bits, its high bits.
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let post = posts[Int(state >> 33) % posts.count]
        return Look(owner: post.author, actor: fan, post: post.id)
      }
      try await client.transaction { transaction in
        try await transaction.sql.execute(
          """
          INSERT INTO likes (post_id, account_id) SELECT * FROM unnest(\(looks.map(\.post)), \(looks.map(\.actor)))
          """)
        try await transaction.enqueue(looks)
      }
    }
  }
}
