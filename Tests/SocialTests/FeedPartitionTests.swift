import DurableJobs
import Foundation
import LibPQClient
import TestSupport
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(2))) struct FeedPartitionTests {
  @Test func partitionsAreMadeAheadAndFollowOneAnother() async throws {
    try await App.run { app in
      #expect(try await partitions(app).count == 10)
      try await app.client.transaction { try await FeedPartitions().run(in: $0) }
      #expect(try await partitions(app).count == 10)
      #expect(try await app.count("SELECT ensure_feed_partitions(9)") == 2)
      // Concurrent calls take turns.
      let made = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<4 { group.addTask { try await app.count("SELECT ensure_feed_partitions(12)") } }
        return try await group.reduce(0, +)
      }
      #expect(made == 3)
      let bounds = try await partitions(app)
      for (one, next) in zip(bounds, bounds.dropFirst()) { #expect(one.end == next.start) }
    }
  }

  @Test func aPostMakesItsPartitionIfNobodyDid() async throws {
    try await App.run { app in
      let ids = try await app.accounts(2)
      try await app.follow(ids[0], by: ids[1])
      for partition in try await partitions(app) where partition.name != "following_user_posts_older" {
        try await app.pool.execute("DROP TABLE \(unescaped: partition.name)")
      }
      // As after a long time without new ones: the newest is from yesterday.
      try await app.pool.transaction { transaction in
        try await transaction.executeScript(
          """
          DO $$ DECLARE day date := (now() AT TIME ZONE 'UTC')::date - 1; BEGIN
            EXECUTE format('CREATE TABLE %I PARTITION OF following_user_posts FOR VALUES FROM (%s) TO (%s)',
              'following_user_posts_' || to_char(day, 'YYYYMMDD'), post_id_at(day::timestamp AT TIME ZONE 'UTC'),
              post_id_at((day + 1)::timestamp AT TIME ZONE 'UTC'));
          END $$;
          """)
      }
      try await app.post(by: ids[0])
      try await app.drain()
      try await app.expectExactFeeds()
      #expect(try await app.feedRows().count == 1)
    }
  }

  @Test func trimmingMovesOldPagesToTheBaseTables() async throws {
    try await FeedSizes.$current.withValue(FeedSizes(followAtOnce: 2, backfillPage: 2)) {
      try await App.run { app in
        let ids = try await app.accounts(3)
        try await app.follow(ids[0], by: ids[2])
        // Posts of the last 20 days.
        try await makeOldPartitions(app)
        let posts = try await app.pool.query(
          """
          INSERT INTO posts (id, author_id, title)
          SELECT post_id_at(now() - make_interval(days => d)) + d, \(ids[0]), 'old' FROM generate_series(25, 0, -1) d
            RETURNING id
          """
        ).decode(Int.self).sorted()
        try await app.client.enqueue(posts.map { PostFanOut(post: $0, author: ids[0]) })
        try await app.drain()
        try await app.expectExactFeeds()
        #expect(try await read(app, ids[2]) == posts.reversed())

        try await app.client.enqueue(FeedPartitions(keepDays: 10))
        try await app.drain()
        #expect(try await partitions(app).count == 19)
        #expect(
          try await app.count(
            "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname ~ '^following_user_posts.*[0-9]$'") == 18)
        let kept = posts.suffix(11)
        #expect(try await app.feedRows().count == kept.count)
        try await app.expectExactFeeds()
        let bounds = try await partitions(app)
        for (one, next) in zip(bounds, bounds.dropFirst()) { #expect(one.end == next.start) }
        // Pages continue below the floor, and a new follow adds nothing there.
        for limit in [1, 4, 50] { #expect(try await read(app, ids[2], limit: limit) == posts.reversed()) }
        try await app.follow(ids[0], by: ids[1])
        try await app.drain()
        try await app.expectExactFeeds()
        #expect(try await app.feedRows().count == 2 * kept.count)
        #expect(try await read(app, ids[1]) == posts.reversed())
        try await app.client.transaction { try await FeedPartitions(keepDays: 10).run(in: $0) }
        #expect(try await app.count("SELECT count(*) FROM jobs") == 0)
        await #expect(throws: PostgresError.self) {
          try await app.client.transaction { try await FeedPartitions(keepDays: 0).run(in: $0) }
        }
      }
    }
  }

  /// A worker that stopped after detaching a partition leaves a table, which the next one drops.
  @Test func whatIsLeftDetachedIsDropped() async throws {
    try await App.run { app in
      try await makeOldPartitions(app)
      try await app.pool.pipeline(["SELECT raise_feed_floor(10)", "SELECT detach_feed_partition()"])
      #expect(try await app.count("SELECT count(*) FROM feed_leftovers()") == 2)
      try await app.client.enqueue(FeedPartitions(keepDays: 10))
      try await app.drain()
      #expect(try await app.count("SELECT count(*) FROM feed_leftovers()") == 0)
      #expect(try await partitions(app).count == 19)
    }
  }

  /// While a slow statement keeps the trimming from the feeds' lock, all others read and follow.
  @Test func trimmingThatHasToWaitHoldsNobodyUp() async throws {
    try await App.run { app in
      try await makeOldPartitions(app)
      let ids = try await app.accounts(3)
      try await app.follow(ids[0], by: ids[1])
      let long = try await app.hold { _ = try await $0.sql.query("SELECT count(*) FROM following_user_posts") }
      try await app.working {
        try await app.client.enqueue(FeedPartitions(keepDays: 10))
        var longest = Duration.zero
        for _ in 0..<5 {
          try await eventually("a trimming waits for the feeds' lock") {
            try await app.count(
              """
              SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'following_user_posts'::regclass
                AND mode = 'AccessExclusiveLock'
              """) > 0
          }
          let start = ContinuousClock.now
          _ = try await Feed.following(ids[1], PageRequest(), in: app.pool)
          try await app.follow(ids[0], by: ids[2])
          try await app.unfollow(ids[0], by: ids[2])
          longest = max(longest, start.duration(to: .now))
        }
        #expect(longest < .seconds(1))
        try await long.commit()
        try await app.waitForJobs()
      }
      #expect(try await partitions(app).count == 19)
    }
  }

  /// Partitions of the last 20 days, as if they had been created daily.
  private func makeOldPartitions(_ app: App) async throws {
    try await app.pool.transaction { transaction in
      try await transaction.executeScript(
        """
        DROP TABLE following_user_posts_older;
        DO $$ DECLARE day date := (now() AT TIME ZONE 'UTC')::date - 20; BEGIN
          EXECUTE format('CREATE TABLE following_user_posts_older PARTITION OF following_user_posts '
            'FOR VALUES FROM (MINVALUE) TO (%s)', post_id_at(day::timestamp AT TIME ZONE 'UTC'));
          WHILE day < (now() AT TIME ZONE 'UTC')::date - 1 LOOP
            EXECUTE format('CREATE TABLE %I PARTITION OF following_user_posts FOR VALUES FROM (%s) TO (%s)',
              'following_user_posts_' || to_char(day, 'YYYYMMDD'), post_id_at(day::timestamp AT TIME ZONE 'UTC'),
              post_id_at((day + 1)::timestamp AT TIME ZONE 'UTC'));
            day := day + 1;
          END LOOP;
        END $$;
        """)
    }
  }

  private func read(_ app: App, _ account: Int, limit: Int = 7) async throws -> [Int] {
    var found: [Int] = []
    var cursor: Int?
    repeat {
      let page = try await Feed.following(account, PageRequest(before: cursor, limit: limit), in: app.pool)
      found += page.items.map(\.id)
      cursor = page.next
    } while cursor != nil
    return found
  }

  /// The partitions in order of their bounds.
  private func partitions(_ app: App) async throws -> [(name: String, start: String, end: String)] {
    try await app.pool.query(
      """
      SELECT relname::text,
        coalesce(substring(bound from 'FROM \\(''([0-9]+)'), ''), substring(bound from 'TO \\(''([0-9]+)')
      FROM (SELECT relname, pg_get_expr(relpartbound, pg_class.oid) AS bound FROM pg_inherits
        JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent = 'following_user_posts'::regclass) x
      ORDER BY length(coalesce(substring(bound from 'FROM \\(''([0-9]+)'), '')), 2
      """
    ).decode(String.self, String.self, String.self).map { (name: $0.0, start: $0.1, end: $0.2) }
  }
}
