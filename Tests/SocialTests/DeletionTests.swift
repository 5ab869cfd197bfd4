import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient
import Locking
import TestSupport
import Testing

@testable import Social

/// A deleted account is gone for all others at once, and in the end none of its data is left.
@Suite("Deleted accounts", .timeLimit(.minutes(3))) struct DeletionTests {
  /// Three accounts with every relation to one another; the first is deleted.
  private struct World {
    let app: App
    let ids: [Int]
    let posts: [Int]
    var ann: Int { ids[0] }
    var bob: Int { ids[1] }
    var cat: Int { ids[2] }

    static let celeb = "star"

    init(_ app: App) async throws {
      self.app = app
      var ids: [Int] = []
      for name in ["ann", "bob", "cat"] { ids.append(try await app.account(name)) }
      self.ids = ids
      for (follower, followee) in [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2)] {
        try await app.follow(ids[followee], by: ids[follower])
      }
      var posts: [Int] = []
      for author in ids {
        for number in 0..<4 { posts.append(try await app.post("post \(number)", by: author)) }
      }
      self.posts = posts
      for post in posts {
        for account in ids {
          try await app.like(post, by: account)
          try await app.comment(post, by: account)
        }
      }
      for (sender, name) in [(0, "bob"), (1, "ann"), (0, "cat"), (2, "bob")] {
        _ = try await app.pool.transaction {
          try await Messages.send(try MessageDraft(text: "hello \(name)"), to: name, by: ids[sender], in: $0)
        }
      }
      let celeb = try CelebAccount(platform: "instagram", account: Self.celeb)
      for account in ids {
        _ = try await app.client.transaction { try await Celebs.register(celeb, by: account, in: $0) }
        _ = try await app.client.transaction { try await Hearts.give([Heart(to: celeb, by: account)], in: $0) }
      }
      try await app.pool.transaction { try await Blocks.mute(ids[2], by: ids[0], in: $0) }
      try await app.pool.transaction { try await Blocks.mute(ids[0], by: ids[2], in: $0) }
      for number in 0..<3 { try await Self.addPicture(number, to: ids[0], app) }
      try await app.pool.execute(
        """
        INSERT INTO idempotency_keys (account_id, key, request_hash) VALUES (\(ids[0]), 'a key', '\\x00')
        """)
      try await app.drain()
      // A checked notification outlives its follow.
      let newest = try await app.notifications(of: ids[1])[0].id
      try await app.check(upTo: newest, of: ids[1])
    }

    private static func addPicture(_ number: Int, to owner: Int, _ app: App) async throws {
      let hash = [UInt8](repeating: UInt8(number), count: 32)
      let file = MediaFile()
      try await app.pool.transaction { transaction in
        try await transaction.execute(
          """
          INSERT INTO media_files (id, hash, content_type, bytes, width, height, ready, stored_bytes)
          VALUES (\(file.id), \(hash), 'image/png', 10, 1, 1, true, 10)
          """)
        let id = MediaID()
        try await transaction.execute(
          "INSERT INTO media (id, owner_id, file_id) VALUES (\(id.text), \(owner), \(file.id))")
        if number == 0 {
          try await transaction.execute("UPDATE accounts SET avatar_media = \(id.text) WHERE id = \(owner)")
        }
      }
    }

    func delete() async throws {
      try await app.client.transaction { try await Deletions.delete(ann, in: $0) }
    }

    /// No other account sees anything of the deleted one.
    func expectGoneForOthers(_ location: SourceLocation = #_sourceLocation) async throws {
      let (pool, page) = (app.pool, try PageRequest(limit: 100))
      for viewer in [bob, cat] {
        let absence = try await code { _ = try await Accounts.profile(of: "ann", seenBy: viewer, in: pool) }
        #expect(absence == .notFound, sourceLocation: location)
        let found = try await AccountSearch.find("ann", seenBy: viewer, page, in: pool)
        #expect(found.items.isEmpty, sourceLocation: location)
        let home = try await Feed.home(seenBy: viewer, page, in: pool)
        #expect(home.items.map(\.id) == posts[4...].reversed() && home.next == nil, sourceLocation: location)
        let small = try await Feed.home(seenBy: viewer, PageRequest(before: posts[5], limit: 1), in: pool)
        #expect(small.items.map(\.id) == [posts[4]], sourceLocation: location)
        let feed = try await Feed.following(viewer, own: true, page, in: pool)
        #expect(!feed.items.contains { $0.author.id == ann }, sourceLocation: location)
        #expect(try await Likes.posts(likedBy: viewer, page, in: pool).items.count == 8, sourceLocation: location)
        let post = try await code { _ = try await Posts.post(posts[0], seenBy: viewer, in: pool) }
        #expect(post == .notFound, sourceLocation: location)
        #expect(try await code { try await app.like(posts[0], by: viewer) } == .notFound, sourceLocation: location)
        #expect(try await code { try await app.comment(posts[0], by: viewer) } == .notFound, sourceLocation: location)
        for order in Comments.Order.allCases {
          let comments = try await Comments.comments(on: posts[4], seenBy: viewer, order, page, in: pool)
          #expect(!comments.items.contains { $0.author.id == ann }, sourceLocation: location)
        }
        for owner in [bob, cat] {
          let lists = [
            try await Follows.followers(of: owner, page, seenBy: viewer, in: pool),
            try await Follows.following(owner, page, seenBy: viewer, in: pool),
          ]
          #expect(!lists.flatMap(\.items).contains { $0.account.id == ann }, sourceLocation: location)
        }
        for grouped in [true, false] {
          let items = try await app.notifications(of: viewer, grouped: grouped)
          #expect(!items.flatMap(\.actors).contains { $0.id == ann }, sourceLocation: location)
          #expect(items.allSatisfy { !$0.actors.isEmpty }, sourceLocation: location)
        }
        #expect(
          try await app.unread(of: viewer) == app.notifications(of: viewer).count { !$0.isChecked },
          sourceLocation: location)
      }
    }

    func expectNothingLeft(_ location: SourceLocation = #_sourceLocation) async throws {
      let leftovers = try await LeftoverAudit.run(on: app.pool)
      #expect(leftovers.isClean && leftovers.removing == 0, "\(leftovers)", sourceLocation: location)
      #expect(try await app.count("SELECT count(*) FROM hidden_accounts") == 0, sourceLocation: location)
      #expect(try await app.count("SELECT count(*) FROM fan_outs WHERE author_id = \(ann)") == 0)
      #expect(try await app.count("SELECT count(*) FROM media_files WHERE owners = 0") == 0, sourceLocation: location)
      try await app.expectExactFeeds(location)
      try await app.expectExactNotifications(location)
      #expect(try await PostCountAudit.run(on: app.pool).isExact, sourceLocation: location)
      #expect(try await FanLevelAudit.run(on: app.pool).isExact, sourceLocation: location)
      #expect(try await RankingAudit.run(on: app.database).isExact, sourceLocation: location)
      let media = try await MediaAudit.run(nil, on: app.pool)
      #expect(media.isExact, "\(media)", sourceLocation: location)
    }
  }

  /// Runs the pending jobs except those that need a store of pictures.
  private func drain(_ app: App) async throws {
    try await app.working {
      try await eventually {
        try #require(try await app.count("SELECT count(*) FROM dead_jobs WHERE kind <> 'media.remove'") == 0)
        return try await app.count("SELECT count(*) FROM jobs WHERE kind <> 'media.remove'") == 0
      }
    }
  }

  @Test(arguments: [1, 2, 1000])
  func nothingIsLeft(batch: Int) async throws {
    try await AccountRemoval.$batch.withValue(batch) {
      try await App.run { app in
        let world = try await World(app)
        try await world.delete()
        try await world.expectGoneForOthers()
        try await drain(app)
        try await world.expectNothingLeft()
        // The job with a store removes the files.
        #expect(try await app.count("SELECT count(*) FROM media_removals") == 3)
        try await world.expectGoneForOthers()
        // Running twice, as a job may, changes nothing more.
        _ = try await app.client.transaction { try await $0.enqueue(AccountRemoval(account: world.ann)) }
        try await drain(app)
      }
    }
  }

  @Test func messagesStayWithWhoGotThem() async throws {
    try await App.run { app in
      let world = try await World(app)
      try await world.delete()
      for isRemoved in [false, true] {
        if isRemoved { try await drain(app) }
        let list = try await Messages.conversations(of: world.bob, PageRequest(), in: app.pool).items
        #expect(list.map(\.peer.name) == ["cat", "deleted account"], "removed: \(isRemoved)")
        #expect(list[1].peer.username == "~\(world.ann)" && list[1].peer.avatar == nil)
        let texts = try await Messages.messages(of: world.bob, with: "~\(world.ann)", PageRequest(), in: app.pool)
        #expect(texts.items.map(\.text) == ["hello ann", "hello bob"])
        try await app.pool.transaction {
          try await Messages.read(upTo: .max >> 10, of: world.bob, with: "~\(world.ann)", in: $0)
        }
        let refusal = try await code {
          _ = try await app.pool.transaction {
            try await Messages.send(try MessageDraft(text: "still there?"), to: "~\(world.ann)", by: world.bob, in: $0)
          }
        }
        #expect(refusal == .notFound)
        // Only a participant of such a conversation can read it.
        for name in ["~\(world.cat)", "~\(world.bob)", "~0", "~", "~x"] {
          #expect(
            try await code {
              _ = try await Messages.messages(of: world.bob, with: name, PageRequest(), in: app.pool)
            } == .notFound)
        }
      }
    }
  }

  @Test(arguments: [1, 1000])
  func aConversationThatABlockHidGoesWithTheAccount(batch: Int) async throws {
    try await AccountRemoval.$batch.withValue(batch) {
      try await App.run { app in
        let world = try await World(app)
        let (ann, bob, cat) = (world.ann, world.bob, world.cat)
        for (sender, name) in [(ann, "bob"), (cat, "bob"), (ann, "cat")] {
          _ = try await app.pool.transaction {
            try await Messages.send(try MessageDraft(text: "unread"), to: name, by: sender, in: $0)
          }
        }
        let unread = try await Messages.unread(of: bob, in: app.pool)
        try await app.client.transaction { try await Blocks.block(ann, by: bob, in: $0) }
        let left = try await Messages.unread(of: bob, in: app.pool)
        #expect(left < unread)
        try await world.delete()
        try await drain(app)
        #expect(try await Messages.conversations(of: bob, PageRequest(), in: app.pool).items.map(\.peer.id) == [cat])
        #expect(try await Messages.unread(of: bob, in: app.pool) == left)
        #expect(
          try await app.count("SELECT count(*) FROM messages WHERE owner_id = \(bob) AND peer_id = \(ann)") == 0)
        // Others keep theirs.
        #expect(
          try await app.count("SELECT count(*) FROM messages WHERE owner_id = \(cat) AND peer_id = \(ann)") > 0)
        try await world.expectNothingLeft()
      }
    }
  }

  /// A request that the account sent before the end commits long after; the removal waits for it.
  @Test func whatIsStillBeingWrittenIsRemovedToo() async throws {
    try await App.run { app in
      let ids = try await app.accounts(2)
      let post = try await app.post(by: ids[1])
      let (held, release) = (Locked(false), Locked(false))
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          try await app.client.transaction { transaction in
            try await Likes.like(post, by: ids[0], in: transaction)
            held.withLock { $0 = true }
            try await eventually { release.withLock { $0 } }
          }
        }
        try await eventually { held.withLock { $0 } }
        try await app.client.transaction { try await Deletions.delete(ids[0], in: $0) }
        try await app.working {
          try await eventually {
            try await app.count("SELECT count(*) FROM hidden_accounts WHERE cardinality(writers) > 0") == 1
          }
          // The removal retries, and the like's transaction is still open.
          let removals: PostgresQuery = "SELECT id::text FROM jobs WHERE kind = 'accounts.remove'"
          let first = try await app.pool.query(removals).decode(String.self)
          try await eventually { try await app.pool.query(removals).decode(String.self) != first }
          #expect(try await app.count("SELECT count(*) FROM hidden_accounts") == 1)
          release.withLock { $0 = true }
          try await app.waitForJobs()
        }
      }
      #expect(try await LeftoverAudit.run(on: app.pool).isClean)
      #expect(try await app.count("SELECT count(*) FROM likes") == 0)
      #expect(try await app.count("SELECT count(*) FROM hidden_accounts") == 0)
      try await app.expectExactNotifications()
    }
  }

  /// Requests from a deleted account's sessions are refused, each in its own transaction.
  @Test func nobodyWritesForAnAccountThatIsGone() async throws {
    try await App.run { app in
      let world = try await World(app)
      try await world.delete()
      try await drain(app)
      let (ann, bob, post) = (world.ann, world.bob, world.posts[4])
      let pool = app.pool
      let celeb = try CelebAccount(platform: "instagram", account: "other")
      let attempts: [@Sendable () async throws -> Void] = [
        { try await app.post(by: ann) },
        { try await app.like(post, by: ann) },
        { try await app.comment(post, by: ann) },
        { try await app.follow(bob, by: ann) },
        { try await app.follow(ann, by: bob) },
        {
          _ = try await pool.transaction {
            try await Messages.send(try MessageDraft(text: "x"), to: "bob", by: ann, in: $0)
          }
        },
        { _ = try await app.client.transaction { try await Celebs.register(celeb, by: ann, in: $0) } },
        {
          let star = try CelebAccount(platform: "instagram", account: World.celeb)
          _ = try await app.client.transaction { try await Hearts.give([Heart(to: star, by: ann)], in: $0) }
        },
        { try await app.client.transaction { try await Blocks.block(bob, by: ann, in: $0) } },
        { try await app.client.transaction { try await Blocks.block(ann, by: bob, in: $0) } },
        { try await pool.transaction { try await Blocks.mute(bob, by: ann, in: $0) } },
        { try await pool.transaction { try await Blocks.mute(ann, by: bob, in: $0) } },
        { _ = try await pool.transaction { try await Sessions.open(for: ann, in: $0) } },
        { try await app.client.transaction { try await Deletions.delete(ann, in: $0) } },
      ]
      for attempt in attempts {
        do { try await attempt() } catch is SocialError {}
      }
      try await drain(app)
      let leftovers = try await LeftoverAudit.run(on: pool)
      #expect(leftovers.isClean, "\(leftovers)")
      #expect(try await app.count("SELECT count(*) FROM sessions") == 0)
    }
  }
}
