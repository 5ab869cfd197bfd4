import DurableJobs
import DurableJobsPostgres
import Foundation
import LibPQClient
import Locking
import TestSupport
import Testing

@testable import Social

/// Many accounts like, comment, follow, undo it, delete and check concurrently, with workers whose jobs fail, are
/// retried and overtake one another. At the end notifications must match a simple model, and their counts must at every
/// moment.
@Suite(.timeLimit(.minutes(3))) struct NotificationModelTests {
  private struct Told: Hashable, Sendable {
    var owner: Int
    var type: NotificationType
    var actor: Int
    var post: Int?
    var comment: Int?
  }

  private struct CommentMade: Hashable, Sendable {
    var id: Int
    var post: Int
  }

  /// The likes, comments, follows and posts, from each account's own actions.
  private struct Model: Sendable {
    var posts: [Int: Set<Int>] = [:]
    var likes: [Int: Set<Int>] = [:]
    var comments: [Int: Set<CommentMade>] = [:]
    var follows: [Int: Set<Int>] = [:]

    private var authors: [Int: Int] {
      Dictionary(uniqueKeysWithValues: posts.flatMap { author, ids in ids.map { ($0, author) } })
    }

    var told: Set<Told> {
      var told: Set<Told> = []
      let authors = authors
      for (actor, liked) in likes {
        for post in liked {
          if let owner = authors[post], owner != actor {
            told.insert(Told(owner: owner, type: .like, actor: actor, post: post))
          }
        }
      }
      for (actor, made) in comments {
        for comment in made {
          if let owner = authors[comment.post], owner != actor {
            told.insert(Told(owner: owner, type: .comment, actor: actor, post: comment.post, comment: comment.id))
          }
        }
      }
      for (actor, followed) in follows {
        for owner in followed { told.insert(Told(owner: owner, type: .follow, actor: actor)) }
      }
      return told
    }
  }

  @Test(arguments: [UInt64.random(in: 0...UInt64.max), UInt64.random(in: 0...UInt64.max), 1])
  func notificationsAreWhatTheModelSays(seed: UInt64) async throws {
    print("notificationsAreWhatTheModelSays: seed \(seed)")
    try await App.run(connections: 20) { app in
      let accounts = try await app.accounts(10)
      let model = Locked(Model())
      for author in accounts.prefix(2) {
        let post = try await app.post(by: author)
        model.withLock { _ = $0.posts[author, default: []].insert(post) }
      }
      try await app.drain()
      try await app.pool.transaction { try await $0.executeScript(badLuck) }
      try await app.working {
        // Short rounds, each checked: later rounds would often repair the errors of earlier ones.
        for round in 0..<8 {
          try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, account) in accounts.enumerated() {
              group.addTask {
                var random = SeededGenerator(seed: seed &+ UInt64(round * 1000 + index) &* 0x9E37_79B9_7F4A_7C15)
                for _ in 0..<8 { try await act(as: account, among: accounts, app, model, &random) }
              }
            }
            try await group.waitForAll()
          }
          try await app.waitForJobs()
          try await compare(app, model.withLock { $0.told }, "seed \(seed), round \(round)")
        }
      }
      try await app.expectExactNotifications()
    }
  }

  private func compare(_ app: App, _ expected: Set<Told>, _ place: String) async throws {
    let rows = try await app.pool.query(
      """
      SELECT n.owner_id, n.type, n.actor_id, n.post_id, n.comment_id, n.checked OR n.id <= c.checked_until
      FROM notifications n JOIN notification_counts c USING (owner_id)
      """
    ).decode(Int.self, Int16.self, Int.self, Int.self, Int.self, Bool.self)
    var found: Set<Told> = []
    var unread: [Int: Int] = [:]
    for (owner, type, actor, post, comment, isChecked) in rows {
      let told = Told(
        owner: owner, type: NotificationType(rawValue: type), actor: actor, post: post == 0 ? nil : post,
        comment: comment == 0 ? nil : comment)
      if !isChecked { unread[owner, default: 0] += 1 }
      // The notification of an ended follow stays if it was seen.
      if told.type == .follow, isChecked, !expected.contains(told) { continue }
      #expect(found.insert(told).inserted, "\(place): told twice: \(told)")
    }
    try #require(
      found == expected,
      "\(place): missing \(expected.subtracting(found)), stale \(found.subtracting(expected)) of \(expected.count)")
    for owner in Set(expected.map(\.owner)) {
      let counted = try await app.unread(of: owner)
      try #require(counted == unread[owner, default: 0], "\(place): unread of \(owner)")
    }
    let audit = try await NotificationAudit.run(on: app.database)
    try #require(audit.isExact, "\(place): \(audit)")
  }

  /// One action of an account. Its likes, comments and follows are its own, so the model knows them; concurrency is
  /// only between accounts.
  private func act(
    as account: Int, among accounts: [Int], _ app: App, _ model: Locked<Model>, _ random: inout SeededGenerator
  ) async throws {
    let authors = Array(accounts.prefix(2))
    let mine = model.withLock { $0.posts[account, default: []] }
    // The newest posts more than others, since they are likely to be deleted.
    let posts = model.withLock { $0.posts.values.flatMap { $0 } }.sorted().suffix(4)
    switch Int.random(in: 0..<100, using: &random) {
    case ..<45:
      guard let post = posts.randomElement(using: &random) else { return }
      let isLiked = model.withLock { $0.likes[account, default: []].contains(post) }
      if isLiked, Int.random(in: 0..<6, using: &random) > 0 {
        try await orGone {
          let isTakenBack = try await app.unlike(post, by: account)
          #expect(isTakenBack)
        }
        model.withLock { _ = $0.likes[account, default: []].remove(post) }
      } else {
        try await orGone {
          let isNew = try await app.like(post, by: account)
          #expect(isNew == !isLiked)
          model.withLock { _ = $0.likes[account, default: []].insert(post) }
        }
      }
    case ..<60:
      guard let post = posts.randomElement(using: &random) else { return }
      let made = model.withLock { $0.comments[account, default: []] }.sorted { $0.id < $1.id }
      if let comment = made.randomElement(using: &random), Bool.random(using: &random) {
        try await orGone { try await app.deleteComment(comment.id, on: comment.post, by: account) }
        model.withLock { _ = $0.comments[account, default: []].remove(comment) }
      } else {
        try await orGone {
          let id = try await app.comment(post, by: account)
          model.withLock { _ = $0.comments[account, default: []].insert(CommentMade(id: id, post: post)) }
        }
      }
    case ..<78:
      guard let other = (authors + accounts).filter({ $0 != account }).randomElement(using: &random) else { return }
      if model.withLock({ $0.follows[account, default: []].contains(other) }) {
        #expect(try await app.unfollow(other, by: account))
        model.withLock { _ = $0.follows[account, default: []].remove(other) }
      } else {
        #expect(try await app.follow(other, by: account))
        model.withLock { _ = $0.follows[account, default: []].insert(other) }
      }
    case ..<88 where authors.contains(account):
      if mine.count > 2, let post = mine.sorted().randomElement(using: &random) {
        try await app.delete(post, by: account)
        model.withLock { _ = $0.posts[account, default: []].remove(post) }
      } else {
        let post = try await app.post(by: account)
        model.withLock { _ = $0.posts[account, default: []].insert(post) }
      }
    case ..<97:
      let owner = authors.randomElement(using: &random) ?? account
      let items = try await app.notifications(of: owner, grouped: Bool.random(using: &random))
      guard let item = items.randomElement(using: &random) else { return }
      if Bool.random(using: &random) {
        try await app.check(upTo: item.id, of: owner)
      } else {
        try await orGone { try await app.check(item.id, of: owner) }
      }
    default:
      // Counts are right at every moment, whatever is in progress.
      let audit = try await NotificationAudit.run(on: app.database)
      try #require(audit.miscounted == 0, "\(audit.miscountedOwners)")
    }
  }

  /// Ignores errors about a target that another account may have removed meanwhile.
  private func orGone(_ body: () async throws -> Void) async throws {
    do { try await body() } catch let error as SocialError where error.code == .notFound {}
  }
}

/// Makes one transaction in eight wait for 40 ms before it commits, with its statements done and its locks held; and
/// makes one in twenty of the jobs' fail then, to be retried after others.
private let badLuck = """
  CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF random() < 0.125 THEN PERFORM pg_sleep(0.04); END IF; RETURN NULL; END $$;
  CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF random() < 0.05 AND OLD.queue = 'notifications' THEN RAISE EXCEPTION 'bad luck'; END IF;
      RETURN NULL;
    END $$;
  CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT OR DELETE ON likes
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dawdle();
  CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT OR DELETE ON comments
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dawdle();
  CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT OR DELETE ON posts
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dawdle();
  CREATE CONSTRAINT TRIGGER dawdle AFTER DELETE ON jobs.jobs
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dawdle();
  CREATE CONSTRAINT TRIGGER fail AFTER DELETE ON jobs.jobs
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail();
  """
