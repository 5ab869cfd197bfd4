import DurableJobs
import Foundation
import LibPQClient
import Testing

@testable import Social

@Suite(.timeLimit(.minutes(2))) struct NotificationTests {
  @Test func likesCommentsAndFollowsAreToldToWhomTheyConcern() async throws {
    try await App.run { app in
      let ids = try await app.accounts(3)
      let post = try await app.post(by: ids[0])
      try await app.like(post, by: ids[1])
      try await app.drain()
      let comment = try await app.comment(post, by: ids[2])
      try await app.drain()
      try await app.follow(ids[0], by: ids[1])
      try await app.drain()
      let items = try await app.notifications(of: ids[0])
      #expect(items.map(\.type) == [.follow, .comment, .like])
      #expect(items.map { $0.actors.map(\.id) } == [[ids[1]], [ids[2]], [ids[1]]])
      #expect(items.map { $0.actors.first?.username } == ["account2", "account3", "account2"])
      #expect(items.map(\.post) == [nil, post, post])
      #expect(items.map(\.comment) == [nil, comment, nil])
      #expect(items.allSatisfy { !$0.isChecked && $0.count == 1 })
      #expect(items.map(\.isFollowed) == [false, nil, nil])
      #expect(try await app.unread(of: ids[0]) == 3)
      for other in ids[1...] {
        #expect(try await app.notifications(of: other).isEmpty)
        #expect(try await app.unread(of: other) == 0)
      }
      try await app.expectExactNotifications()
    }
  }

  @Test func nobodyIsToldOfOneself() async throws {
    try await App.run { app in
      let author = try await app.account("author")
      let post = try await app.post(by: author)
      #expect(try await app.like(post, by: author))
      let comment = try await app.comment(post, by: author)
      // Nor by a manually enqueued job.
      try await app.client.enqueue([
        NotificationUpdate(like: post, by: author, to: author),
        NotificationUpdate(comment: comment, on: post, by: author, to: author),
        NotificationUpdate(followOf: author, by: author),
      ])
      try await app.drain()
      #expect(try await app.count("SELECT count(*) FROM notifications") == 0)
      await #expect(throws: PostgresError.self) {
        try await app.pool.execute(
          "INSERT INTO notifications (owner_id, actor_id, type, created_at) VALUES (1, 1, 2, now())")
      }
      try await app.expectExactNotifications()
    }
  }

  @Test func jobsThatAskForWhatIsNotSoWriteNothing() async throws {
    try await App.run { app in
      let ids = try await app.accounts(3)
      let post = try await app.post(by: ids[0])
      try await app.like(post, by: ids[1])
      try await app.client.enqueue([
        // An owner other than the author, a like that does not exist, a missing comment and post, a type of the future.
        NotificationUpdate(like: post, by: ids[1], to: ids[2]), NotificationUpdate(like: post, by: ids[2], to: ids[0]),
        NotificationUpdate(comment: 4711, on: post, by: ids[1], to: ids[0]),
        NotificationUpdate(like: 4711, by: ids[1], to: ids[0]), NotificationUpdate(followOf: ids[0], by: ids[1]),
      ])
      var unknown = NotificationUpdate(followOf: ids[0], by: ids[1])
      unknown.type = NotificationType(rawValue: 9)
      try await app.client.enqueue(unknown)
      try await app.drain()
      #expect(try await app.notifications(of: ids[0]).map(\.type) == [.like])
      #expect(try await app.notifications(of: ids[2]).isEmpty)
      try await app.expectExactNotifications()
    }
  }

  @Test func whatIsTakenBackIsNotTold() async throws {
    try await App.run { app in
      let ids = try await app.accounts(2)
      let post = try await app.post(by: ids[0])
      try await app.like(post, by: ids[1])
      let comment = try await app.comment(post, by: ids[1])
      try await app.drain()
      #expect(try await app.unread(of: ids[0]) == 2)
      #expect(try await app.unlike(post, by: ids[1]))
      #expect(try await !app.unlike(post, by: ids[1]))
      try await app.drain()
      #expect(try await app.notifications(of: ids[0]).map(\.type) == [.comment])
      #expect(try await app.unread(of: ids[0]) == 1)
      try await app.check(upTo: EntityID.all.upperBound, of: ids[0])
      try await app.deleteComment(comment, on: post, by: ids[0])
      try await app.drain()
      #expect(try await app.notifications(of: ids[0]).isEmpty)
      #expect(try await app.unread(of: ids[0]) == 0)
      try await app.expectExactNotifications()
    }
  }

  @Test func aLikeMadeAgainIsOneAndUnread() async throws {
    try await App.run { app in
      let ids = try await app.accounts(2)
      let post = try await app.post(by: ids[0])
      #expect(try await app.like(post, by: ids[1]))
      #expect(try await !app.like(post, by: ids[1]))
      try await app.drain()
      let first = try #require(try await app.notifications(of: ids[0]).first)
      try await app.check(upTo: first.id, of: ids[0])
      #expect(try await app.unread(of: ids[0]) == 0)
      // No job runs between the two.
      try await app.unlike(post, by: ids[1])
      try await app.like(post, by: ids[1])
      try await app.drain()
      let items = try await app.notifications(of: ids[0])
      #expect(items.count == 1)
      #expect(items[0].id > first.id && items[0].createdAt > first.createdAt && !items[0].isChecked)
      #expect(try await app.unread(of: ids[0]) == 1)
      try await app.expectExactNotifications()
    }
  }

  @Test func followingAgainTellsNothingNewOnceItWasChecked() async throws {
    try await App.run { app in
      let ids = try await app.accounts(2)
      try await app.follow(ids[0], by: ids[1])
      try await app.drain()
      let first = try #require(try await app.notifications(of: ids[0]).first)
      // Not seen yet: it is removed with the follow, and returns with the next.
      try await app.unfollow(ids[0], by: ids[1])
      try await app.drain()
      #expect(try await app.notifications(of: ids[0]).isEmpty)
      #expect(try await app.unread(of: ids[0]) == 0)
      try await app.follow(ids[0], by: ids[1])
      try await app.drain()
      let second = try #require(try await app.notifications(of: ids[0]).first)
      #expect(second.id > first.id)
      // Seen: it stays, and the unread mark stays off.
      try await app.check(second.id, of: ids[0])
      for _ in 0..<3 {
        try await app.unfollow(ids[0], by: ids[1])
        try await app.drain()
        try await app.follow(ids[0], by: ids[1])
        try await app.drain()
        #expect(try await app.notifications(of: ids[0]).map(\.id) == [second.id])
        #expect(try await app.unread(of: ids[0]) == 0)
      }
      try await app.expectExactNotifications()
    }
  }

  @Test func aFollowTellsWhetherTheReaderFollowsBack() async throws {
    try await App.run { app in
      let ids = try await app.accounts(3)
      for follower in ids[1...] { try await app.follow(ids[0], by: follower) }
      try await app.follow(ids[1], by: ids[0])
      try await app.drain()
      for grouped in [true, false] {
        let items = try await app.notifications(of: ids[0], grouped: grouped)
        let back = Dictionary(uniqueKeysWithValues: items.map { ($0.actors[0].id, $0.isFollowed) })
        #expect(back == [ids[1]: true, ids[2]: false])
      }
    }
  }

  @Test func actorsHaveTheNamesOfNowAndDeletedOnesAreLeftOut() async throws {
    try await App.run { app in
      let ids = try await app.accounts(3)
      let post = try await app.post(by: ids[0])
      for fan in ids[1...] { try await app.like(post, by: fan) }
      try await app.drain()
      try await app.pool.execute("UPDATE accounts SET username = 'renamed' WHERE id = \(ids[1])")
      try await app.pool.execute("DELETE FROM accounts WHERE id = \(ids[2])")
      for grouped in [true, false] {
        let actors = try await app.notifications(of: ids[0], grouped: grouped).flatMap(\.actors)
        #expect(actors.map(\.username) == ["renamed"])
      }
      #expect(try await app.unread(of: ids[0]) == 1)
    }
  }

  @Test func aDeletedPostTakesAllThatTellsOfIt() async throws {
    var sizes = NotificationSizes()
    sizes.budget = 3
    try await NotificationSizes.$current.withValue(sizes) {
      try await App.run { app in
        let ids = try await app.accounts(9)
        let post = try await app.post(by: ids[0])
        let other = try await app.post(by: ids[0])
        for fan in ids[1...] {
          try await app.like(post, by: fan)
          try await app.comment(post, by: fan)
        }
        try await app.like(other, by: ids[1])
        try await app.drain()
        #expect(try await app.unread(of: ids[0]) == 17)
        try await app.delete(post, by: ids[0])
        let refused = try await code { try await app.like(post, by: ids[1]) }
        #expect(refused == .notFound)
        try await app.drain()
        #expect(try await app.notifications(of: ids[0]).map(\.post) == [other])
        #expect(try await app.unread(of: ids[0]) == 1)
        #expect(try await app.count("SELECT count(*) FROM likes") == 1)
        #expect(try await app.count("SELECT count(*) FROM comments") == 0)
        try await app.expectExactNotifications()
        // A manually enqueued sweep leaves existing ones alone.
        try await app.client.enqueue(DeletePostReactions(post: other, author: ids[0]))
        try await app.drain()
        #expect(try await app.count("SELECT count(*) FROM likes") == 1)
      }
    }
  }

  @Test func importedFollowsAreNoNews() async throws {
    try await App.run { app in
      let ids = try await app.accounts(2)
      try await app.pool.execute("INSERT INTO follows (follower_id, followee_id) VALUES (\(ids[1]), \(ids[0]))")
      try await app.client.enqueue(NotificationUpdate(followOf: ids[0], by: ids[1]))
      try await app.drain()
      #expect(try await app.notifications(of: ids[0]).isEmpty)
      try await app.expectExactNotifications()
    }
  }

  @Test func theAuditFindsEveryDifference() async throws {
    try await App.run { app in
      let ids = try await app.accounts(4)
      let post = try await app.post(by: ids[0])
      for fan in ids[1...] { try await app.like(post, by: fan) }
      try await app.follow(ids[0], by: ids[1])
      #expect(try await NotificationAudit.run(on: app.database).pending == 4)
      try await app.drain()
      let exact = try await NotificationAudit.run(on: app.database)
      #expect(exact.isExact && exact.expected == 4 && exact.found == 4 && exact.pending == 0)
      // A missing one, one without a cause, one with another time, an unannounced follow, and two wrong counts.
      try await app.pool.execute("DELETE FROM notifications WHERE actor_id = \(ids[2])")
      try await app.pool.execute("DELETE FROM likes WHERE account_id = \(ids[3])")
      try await app.pool.execute("UPDATE notifications SET created_at = now() WHERE actor_id = \(ids[1]) AND type = 0")
      try await app.pool.execute("UPDATE follows SET is_announced = false")
      try await app.pool.execute("UPDATE notification_counts SET unread = unread - 1 WHERE owner_id = \(ids[0])")
      try await app.pool.execute("INSERT INTO notification_counts (owner_id, kept) VALUES (4711, 1)")
      let audit = try await NotificationAudit.run(on: app.database)
      #expect(!audit.isExact && audit.missing == 2 && audit.stale == 3 && audit.miscounted == 2)
      #expect(Set(audit.missingRows.map(\.actor)) == [ids[1], ids[2]])
      #expect(Set(audit.staleRows.map(\.actor)) == [ids[1], ids[3]])
      #expect(audit.missingRows.allSatisfy { $0.username == "account1" && $0.post == post && $0.type == .like })
      #expect(
        Set(audit.miscountedOwners) == [
          NotificationAudit.Count(
            username: "account1", owner: ids[0], kept: 3, keptFound: 3, unread: 2, unreadFound: 3),
          NotificationAudit.Count(
            username: "(no account 4711)", owner: 4711, kept: 1, keptFound: 0, unread: 0, unreadFound: 0),
        ])
      #expect(try await NotificationAudit.run(examples: 1, on: app.database).missingRows.count == 1)
    }
  }
}
