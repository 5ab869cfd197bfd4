import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient

extension FirebaseWriter {
  /// Adds posts without their pictures, which follow. Nobody is notified; followers whom an author has already get the
  /// posts by the app's own fan-out.
  func write(posts items: [BatchItem<FirebaseRecords.Post>]) async throws -> FirebaseOutcome {
    try await transact { transaction in
      let sql = transaction.sql
      var outcome = FirebaseOutcome()
      let (fresh, known) = try await Self.fresh(items, of: .posts, { $0.source }, in: sql)
      outcome.known = known
      if fresh.isEmpty { return outcome }
      let accounts = try await Self.accounts(Set(fresh.map { $0.value.author }), in: sql)
      var posts: [FirebaseRecords.Post] = []
      var authors: [Int] = []
      for item in fresh {
        guard let author = accounts[item.value.author] else {
          outcome.rejected[item.index] = Self.unknownUser(item.value.author)
          continue
        }
        posts.append(item.value)
        authors.append(author)
      }
      if posts.isEmpty { return outcome }
      // As when a post is made: a follow either sees the posts, or is seen by their fan-out.
      try await sql.execute(
        "SELECT pg_advisory_xact_lock(posts_lock(id)) FROM unnest(\(Set(authors).sorted())) AS id",
        timeout: Self.timeout)
      let ids = try await sql.query("SELECT import_post_ids(\(posts.map(\.createdAt)))", timeout: Self.timeout)[0]
        .decode([Int].self)
      let followed = try await sql.query(
        """
        WITH given AS (
          SELECT * FROM unnest(\(ids), \(authors), \(posts.map(\.source)), \(posts.map(\.title)),
            \(posts.map(\.description)), \(posts.map(\.createdAt)), \(posts.map(\.editedAt)))
            AS g (id, author, source, title, description, created_at, edited_at)
        ), authors AS MATERIALIZED (
          SELECT author, EXISTS (SELECT FROM follows WHERE followee_id = author) AS is_followed,
            EXISTS (SELECT FROM follows WHERE followee_id = author OFFSET \(Posts.pushLimit)) AS is_pulled
          FROM (SELECT DISTINCT author FROM given) a
        ), made AS (
          INSERT INTO posts (id, author_id, title, description, created_at, edited_at, is_pulled)
          SELECT g.id, g.author, title, description, created_at, edited_at, is_pulled
          FROM given g JOIN authors a ON a.author = g.author ORDER BY g.id
        ), noted AS (
          INSERT INTO imports (kind, source, id) SELECT 'posts', source, id FROM given
        ), pulled AS (
          INSERT INTO pulled_authors AS noted (author_id, last_post)
          SELECT g.author, max(g.id) FROM given g JOIN authors a ON a.author = g.author
          WHERE is_pulled GROUP BY g.author
          ON CONFLICT (author_id) DO UPDATE SET last_post = greatest(noted.last_post, excluded.last_post)
        ), done AS (
          INSERT INTO fan_outs (post_id, author_id, followers, chunks, finished_at)
          SELECT g.id, g.author, 0, 0, clock_timestamp() FROM given g JOIN authors a ON a.author = g.author
          WHERE NOT is_followed
        )
        SELECT g.id, g.author FROM given g JOIN authors a ON a.author = g.author WHERE is_followed
        """, timeout: Self.timeout
      ).decode(Int.self, Int.self)
      try await transaction.enqueue(followed.map { PostFanOut(post: $0.0, author: $0.1) })
      outcome.externalPictures = try await Self.stage(posts, ids, authors, in: sql)
      outcome.added = posts.count
      return outcome
    }
  }

  /// Notes the posts' pictures. Returns how many are elsewhere on the web.
  private static func stage(
    _ posts: [FirebaseRecords.Post], _ ids: [Int], _ authors: [Int], in sql: PostgresTransaction
  ) async throws -> Int {
    var external = 0
    var owners: [Int] = []
    var shown: [Int] = []
    var paths: [String] = []
    var sources: [String] = []
    for (place, post) in posts.enumerated() {
      for picture in post.pictures {
        if StoragePath.read(picture) == .external {
          external += 1
          continue
        }
        owners.append(authors[place])
        shown.append(ids[place])
        paths.append(picture)
        sources.append("posts/\(post.source)")
      }
    }
    if paths.isEmpty { return external }
    try await sql.execute(
      """
      INSERT INTO import_pictures (owner_id, post_id, path, source)
      SELECT owner, post, path, source FROM unnest(\(owners), \(shown), \(paths), \(sources)) WITH ORDINALITY
        AS g (owner, post, path, source, place) ORDER BY place
      """, timeout: timeout)
    return external
  }

  // MARK: Follows

  /// Adds follows, except where one has blocked the other since, and the newest posts of each followee to the follower's
  /// feed. Older ones follow by the app's own job, as after any follow.
  func write(follows items: [BatchItem<FirebaseRecords.Follow>]) async throws -> FirebaseOutcome {
    try await transact { transaction in
      let sql = transaction.sql
      var outcome = FirebaseOutcome()
      let (fresh, known) = try await Self.fresh(items, of: .follows, { $0.source }, in: sql)
      outcome.known = known
      if fresh.isEmpty { return outcome }
      let uids = Set(fresh.flatMap { [$0.value.follower, $0.value.followee] })
      let accounts = try await Self.accounts(uids, in: sql)
      var sources: [String] = []
      var followers: [Int] = []
      var followees: [Int] = []
      var dates: [Date?] = []
      for item in fresh {
        let follow = item.value
        guard let follower = accounts[follow.follower] else {
          outcome.rejected[item.index] = Self.unknownUser(follow.follower)
          continue
        }
        guard let followee = accounts[follow.followee] else {
          outcome.rejected[item.index] = Self.unknownUser(follow.followee)
          continue
        }
        sources.append(follow.source)
        followers.append(follower)
        followees.append(followee)
        dates.append(follow.createdAt)
      }
      if sources.isEmpty { return outcome }
      try await sql.execute(
        "SELECT pg_advisory_xact_lock_shared(posts_lock(id)) FROM unnest(\(Set(followees).sorted())) AS id",
        timeout: Self.timeout)
      let atOnce = FeedSizes.current.followAtOnce
      // Not announced: only those of which the export has a notification get one.
      let rows = try await sql.query(
        """
        WITH added AS (
          INSERT INTO follows (follower_id, followee_id, created_at)
          SELECT f.id, a.id, coalesce(g.at, greatest(f.created_at, a.created_at))
          FROM unnest(\(followers), \(followees), \(dates)) AS g (follower, followee, at)
          JOIN accounts f ON f.id = g.follower JOIN accounts a ON a.id = g.followee
          WHERE NOT EXISTS (
            SELECT FROM restrictions r
            WHERE r.account_id = f.id AND r.other_id = a.id AND (r.blocked_at IS NOT NULL OR r.is_blocked))
          ORDER BY a.id, f.id
          ON CONFLICT DO NOTHING RETURNING follower_id, followee_id
        ), latest AS MATERIALIZED (
          SELECT d.follower_id, d.followee_id, p.id FROM added d CROSS JOIN LATERAL (
            SELECT id FROM posts
            WHERE author_id = d.followee_id AND id >= (SELECT post_id FROM feed_floor) AND NOT is_pulled
            ORDER BY id DESC LIMIT \(atOnce)) p
        ), spread AS (
          INSERT INTO following_user_posts (user_id, post_id)
          SELECT follower_id, id FROM latest ORDER BY id, follower_id
          ON CONFLICT DO NOTHING
        )
        SELECT d.follower_id, d.followee_id, count(l.id), min(l.id) FROM added d
        LEFT JOIN latest l ON l.follower_id = d.follower_id AND l.followee_id = d.followee_id
        GROUP BY d.follower_id, d.followee_id
        """, timeout: Self.timeout
      ).decode(Int.self, Int.self, Int.self, Int?.self)
      try await Self.note(sources, of: .follows, in: sql)
      var backfills: [FeedBackfill] = []
      for (follower, followee, count, oldest) in rows where count == atOnce {
        if let oldest { backfills.append(FeedBackfill(follower: follower, followee: followee, before: oldest)) }
      }
      try await transaction.enqueue(backfills)
      outcome.added = rows.count
      outcome.known += sources.count - rows.count
      return outcome
    }
  }

  /// Profiles of authors with very many followers show the number that their newest fan-out counted.
  func countFollowers(in pool: PostgresPool) async throws {
    try await pool.execute(
      """
      UPDATE fan_outs SET followers = f.count, delivered = f.count
      FROM (
        SELECT followee_id, count(*) AS count FROM follows GROUP BY followee_id
        HAVING count(*) >= \(Accounts.countLimit)
      ) f
      WHERE fan_outs.post_id = (
          SELECT post_id FROM fan_outs newest WHERE newest.author_id = f.followee_id AND newest.finished_at IS NOT NULL
          ORDER BY post_id DESC LIMIT 1)
        AND fan_outs.followers < f.count AND fan_outs.chunks = 0
      """, timeout: .seconds(3600))
  }
}
