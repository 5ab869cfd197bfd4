import DurableJobs
import Foundation
import LibPQClient
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(2))) struct FeedTests {
  @Test func aPostReachesItsFollowersOnly() async throws {
    try await App.run { app in
      let ids = try await app.accounts(4)
      for follower in ids[1...2] { #expect(try await app.follow(ids[0], by: follower)) }
      #expect(try await !app.follow(ids[0], by: ids[1]))
      #expect(try await code { try await app.follow(ids[0], by: ids[0]) } == .cannotFollowYourself)
      let post = try await app.post("Hello", by: ids[0])
      let before = try await FanOutProgress.of(post, seenBy: 0, in: app.pool)
      #expect(before.followers == 2 && before.delivered == 0 && !before.isDone && before.startedAt == nil)
      try await app.drain()
      #expect(try await app.feedRows() == [FeedRow(user: ids[1], post: post), FeedRow(user: ids[2], post: post)])
      let after = try await FanOutProgress.of(post, seenBy: 0, in: app.pool)
      #expect(after.followers == 2 && after.delivered == 2 && after.isDone && after.finishedAt != nil)
      try await app.expectExactFeeds()
      let page = try await Feed.following(ids[1], PageRequest(), in: app.pool)
      #expect(page.items.map(\.title) == ["Hello"] && page.next == nil)
      #expect(page.items.first?.author.username == "account1")
      #expect(try await Feed.following(ids[0], PageRequest(), in: app.pool).items.isEmpty)
      #expect(try await Feed.following(ids[0], own: true, PageRequest(), in: app.pool).items.map(\.id) == [post])
      #expect(try await Feed.home(seenBy: 0, PageRequest(), in: app.pool).items.map(\.id) == [post])
    }
  }

  @Test func aFeedIsReadByItsSessionAloneAsLongAsItLasts() async throws {
    try await App.run { app in
      let ids = try await app.accounts(3)
      try await app.follow(ids[0], by: ids[1])
      let post = try await app.post("Hello", by: ids[0])
      try await app.drain()
      let feeds = BatchedFeeds(pool: app.pool, homesFrom: app.pool)
      // A feed with a post, and one without, in which no row tells whose session it is.
      for (reader, posts) in [(ids[1], [post]), (ids[2], [])] {
        let token = try await app.pool.transaction { try await Sessions.open(for: reader, in: $0) }
        func read() async throws -> BatchedFeeds.Reading { try await feeds.following(token, PageRequest()) }
        let reading = try await read()
        #expect(reading.viewer.id == reader && reading.page.items.map(\.id) == posts && !reading.isAsleep)
        #expect(reading.page.items.allSatisfy { !$0.isMine })
        func home(before: Int? = nil) async throws -> [Int] {
          try await feeds.home(token, PageRequest(before: before)).items.map(\.id)
        }
        func expectRefusals(_ location: SourceLocation = #_sourceLocation) async throws {
          #expect(try await code { _ = try await read() } == .notSignedIn, sourceLocation: location)
          #expect(try await code { _ = try await home() } == .notSignedIn, sourceLocation: location)
          #expect(try await code { _ = try await home(before: post) } == .notSignedIn, sourceLocation: location)
        }
        #expect(try await home() == [post])
        #expect(try await home(before: post) == [])
        let expiry = try await app.pool.query(
          "UPDATE sessions SET expires_at = now() WHERE account_id = \(reader) RETURNING now() + interval '1 day'"
        ).decode(Date.self)[0]
        try await expectRefusals()
        try await app.pool.execute("UPDATE sessions SET expires_at = \(expiry) WHERE account_id = \(reader)")
        #expect(try await read().viewer.id == reader)
        try await app.pool.transaction { try await Sessions.close(token, in: $0) }
        try await expectRefusals()
      }
    }
  }

  @Test func largeFanOutIsCutIntoChunksAndCounted() async throws {
    try await FeedSizes.$current.withValue(FeedSizes(chunk: 7)) {
      try await App.run { app in
        let author = try await app.account("author")
        let followers = try await app.accounts(50)
        for follower in followers { try await app.follow(author, by: follower) }
        let post = try await app.post(by: author)
        // Some have the row already, as after a follow between the post and its fan-out.
        try await app.pool.execute(
          "INSERT INTO following_user_posts SELECT unnest(\([followers[3], followers[30], followers[49]])), \(post)")
        try await app.drain()
        let progress = try await FanOutProgress.of(post, seenBy: 0, in: app.pool)
        #expect(progress.followers == 50 && progress.delivered == 50 && progress.isDone)
        #expect(try await app.count("SELECT chunks FROM fan_outs") == 8)
        try await app.expectExactFeeds()
        // Enqueued again, it changes nothing and counts from the start.
        try await app.client.enqueue(PostFanOut(post: post, author: author))
        try await app.drain()
        #expect(try await FanOutProgress.of(post, seenBy: 0, in: app.pool).delivered == 50)
        try await app.expectExactFeeds()
      }
    }
  }

  @Test(arguments: [0, 1, 9, 10, 11, 20, 25])
  func rangesHoldEveryPossibleFollower(followers: Int) async throws {
    try await FeedSizes.$current.withValue(FeedSizes(chunk: 10)) {
      try await App.run { app in
        let author = try await app.account("author")
        for follower in try await app.accounts(followers) { try await app.follow(author, by: follower) }
        let ranges = try await app.pool.transaction { try await FollowerRange.cut(followersOf: author, in: $0) }
        #expect(ranges.first?.first == 0 && ranges.last?.pastLast == .max)
        for (one, next) in zip(ranges, ranges.dropFirst()) { #expect(one.pastLast == next.first) }
        #expect(ranges.map(\.followers).reduce(0, +) == followers)
        #expect(ranges.count == max(1, (followers + 9) / 10))
      }
    }
  }

  @Test func followBringsOldPostsAndUnfollowTakesThemOut() async throws {
    try await FeedSizes.$current.withValue(FeedSizes(followAtOnce: 3, backfillPage: 4)) {
      try await App.run { app in
        let author = try await app.account("author")
        let fan = try await app.account("fan")
        var posts: [Int] = []
        for _ in 0..<12 { posts.append(try await app.post(by: author)) }
        #expect(posts == posts.sorted() && Set(posts).count == 12 && posts.allSatisfy { $0 < 1 << 53 })
        try await app.follow(author, by: fan)
        // The follow itself adds the latest posts.
        #expect(try await Set(app.feedRows().map(\.post)) == Set(posts.suffix(3)))
        try await app.drain()
        #expect(try await Set(app.feedRows().map(\.post)) == Set(posts))
        #expect(try await app.unfollow(author, by: fan))
        #expect(try await !app.unfollow(author, by: fan))
        #expect(try await app.feedRows().isEmpty)
      }
    }
  }

  @Test func pagesFollowOneAnotherAndSkipDeletedPosts() async throws {
    try await App.run { app in
      let ids = try await app.accounts(3)
      for author in ids[0...1] { try await app.follow(author, by: ids[2]) }
      var posts: [Int] = []
      for step in 0..<11 { posts.append(try await app.post(by: ids[step % 3])) }
      try await app.drain()
      func read(own: Bool, limit: Int) async throws -> [Int] {
        var found: [Int] = []
        var cursor: Int?
        repeat {
          let page = try await Feed.following(
            ids[2], own: own, PageRequest(before: cursor, limit: limit), in: app.pool)
          #expect(page.items.count == limit || page.next == nil)
          found += page.items.map(\.id)
          cursor = page.next
        } while cursor != nil
        return found
      }
      let others = posts.enumerated().filter { $0.offset % 3 != 2 }.map(\.element)
      for limit in [1, 2, 3, 100] {
        #expect(try await read(own: false, limit: limit) == others.reversed())
        #expect(try await read(own: true, limit: limit) == posts.reversed())
      }
      // Deleted, with their rows not yet purged: pages stay full.
      for post in [posts[9], posts[7], posts[6]] {
        try await app.delete(post, by: try await app.count("SELECT author_id FROM posts WHERE id = \(post)"))
      }
      let left = others.filter { ![posts[9], posts[7], posts[6]].contains($0) }
      for limit in [1, 2, 3, 100] { #expect(try await read(own: false, limit: limit) == left.reversed()) }
      try await app.drain()
      try await app.expectExactFeeds()
    }
  }

  @Test func postsAreTheirAuthors() async throws {
    try await App.run { app in
      let ids = try await app.accounts(2)
      let post = try await app.post("mine", by: ids[0])
      #expect(try await code { try await app.delete(post, by: ids[1]) } == .notYours)
      #expect(try await code { try await app.delete(post + 1, by: ids[0]) } == .notFound)
      func edit(_ changes: PostChanges, by account: Int) async throws {
        try await app.pool.transaction { try await Posts.edit(post, changes, by: account, in: $0) }
      }
      #expect(try await code { try await edit(PostChanges(title: "yours"), by: ids[1]) } == .notYours)
      // A post from before pictures were stored here.
      try await app.pool.execute("UPDATE posts SET image = 'https://example.org/x.png' WHERE id = \(post)")
      try await edit(PostChanges(title: "edited"), by: ids[0])
      let edited = try await Posts.post(post, seenBy: 0, in: app.pool)
      #expect(edited.title == "edited" && edited.image != nil && edited.editedAt != nil && edited.description == "")
      try await edit(PostChanges(media: []), by: ids[0])
      #expect(try await Posts.post(post, seenBy: 0, in: app.pool).image == nil)
      #expect(try await Posts.posts(of: ids[0], seenBy: 0, PageRequest(), in: app.pool).items.map(\.id) == [post])
      try await app.delete(post, by: ids[0])
      #expect(try await code { _ = try await Posts.post(post, seenBy: 0, in: app.pool) } == .notFound)
      #expect(try await code { _ = try await FanOutProgress.of(post, seenBy: 0, in: app.pool) } == .notFound)
      for title in ["", "  ", String(repeating: "t", count: 201), "a\0"] {
        #expect(throws: SocialError.self) { try PostDraft(title: title) }
      }
      #expect(throws: SocialError.self) {
        try PostDraft(title: "t", description: String(repeating: "d", count: 20_001))
      }
      #expect(throws: SocialError.self) { try PageRequest(limit: 0) }
      #expect(throws: SocialError.self) { try PageRequest(limit: 101) }
    }
  }

  @Test func listsOfFollowersHavePages() async throws {
    try await App.run { app in
      let ids = try await app.accounts(5)
      for other in ids[1...] {
        try await app.follow(ids[0], by: other)
        try await app.follow(other, by: ids[0])
      }
      let first = try await Follows.followers(of: ids[0], PageRequest(limit: 3), seenBy: ids[0], in: app.pool)
      #expect(first.items.map(\.account.id) == [ids[4], ids[3], ids[2]] && first.items.allSatisfy(\.isFollowed))
      let second = try await Follows.followers(
        of: ids[0], PageRequest(before: first.next, limit: 3), seenBy: 0, in: app.pool)
      #expect(second.items.map(\.account.id) == [ids[1]] && second.next == nil)
      #expect(second.items.allSatisfy { !$0.isFollowed })
      let following = try await Follows.following(ids[0], PageRequest(), seenBy: ids[1], in: app.pool)
      #expect(following.items.map(\.account.id) == ids[1...].reversed())
    }
  }
}
