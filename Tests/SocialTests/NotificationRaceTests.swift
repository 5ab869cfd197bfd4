import DurableJobs
import Foundation
import LibPQClient
import Testing

@testable import Social

/// Provokes each race between operations that write notifications and operations that change which belong there. One
/// transaction is held open after its last statement; the other one begins and must wait, or must not need to.
@Suite(.timeLimit(.minutes(2))) struct NotificationRaceTests {
  @Test func anUnlikesUpdateWaitsForTheOneThatSawTheLike() async throws {
    try await race { app, author, fan, post in
      try await app.like(post, by: fan)
      try await app.interleave {
        try await NotificationUpdate.run([like(post, fan, author)], in: $0)
      } with: {
        try await app.unlike(post, by: fan)
        try await app.update(like(post, fan, author))
      }
      #expect(try await app.notifications(of: author).isEmpty)
    }
  }

  @Test func aLikesUpdateWaitsForTheOneThatSawNone() async throws {
    try await race { app, author, fan, post in
      try await app.like(post, by: fan)
      try await app.update(like(post, fan, author))
      try await app.unlike(post, by: fan)
      try await app.interleave {
        try await NotificationUpdate.run([like(post, fan, author)], in: $0)
      } with: {
        try await app.like(post, by: fan)
        try await app.update(like(post, fan, author))
      }
      #expect(try await app.unread(of: author) == 1)
    }
  }

  @Test func updatesInAnyOrderLeaveTheSame() async throws {
    try await race { app, author, fan, post in
      // Those of the first two run after the third's.
      for _ in 0..<2 {
        try await app.like(post, by: fan)
        try await app.unlike(post, by: fan)
      }
      try await app.update(like(post, fan, author))
      #expect(try await app.notifications(of: author).isEmpty)
      try await app.like(post, by: fan)
      for _ in 0..<3 { try await app.update(like(post, fan, author)) }
      #expect(try await app.notifications(of: author).count == 1)
    }
  }

  @Test func deletionOfAPostWaitsForALike() async throws {
    try await race { app, author, fan, post in
      try await app.interleave {
        try await Likes.like(post, by: fan, in: $0)
      } with: {
        try await app.deleteAndSweep(post, by: author)
      }
      try await app.update(like(post, fan, author))
      #expect(try await app.count("SELECT count(*) FROM likes") == 0)
      #expect(try await app.notifications(of: author).isEmpty)
    }
  }

  @Test func deletionOfAPostWaitsForAComment() async throws {
    try await race { app, author, fan, post in
      try await app.interleave {
        _ = try await Comments.create(try CommentDraft(text: "well said"), on: post, by: fan, in: $0)
      } with: {
        try await app.deleteAndSweep(post, by: author)
      }
      #expect(try await app.count("SELECT count(*) FROM comments") == 0)
    }
  }

  @Test func aLikeAndACommentWaitForADeletionAndFindNoPost() async throws {
    try await race { app, author, fan, post in
      try await app.interleave {
        try await Posts.delete(post, by: author, in: $0)
      } with: {
        let like = try await code { try await app.like(post, by: fan) }
        let comment = try await code { _ = try await app.comment(post, by: fan) }
        #expect(like == .notFound && comment == .notFound)
      }
    }
  }

  @Test func aSweepWaitsForAnUpdateThatSawThePost() async throws {
    try await race { app, author, fan, post in
      try await app.like(post, by: fan)
      try await app.interleave {
        try await NotificationUpdate.run([like(post, fan, author)], in: $0)
      } with: {
        try await app.deleteAndSweep(post, by: author)
      }
      #expect(try await app.notifications(of: author).isEmpty)
    }
  }

  @Test func anUpdateWaitsForASweepAndAddsNothing() async throws {
    try await race { app, author, fan, post in
      try await app.like(post, by: fan)
      try await app.delete(post, by: author)
      try await app.interleave {
        try await DeletePostReactions(post: post, author: author).run(in: $0)
      } with: {
        try await app.update(like(post, fan, author))
      }
      #expect(try await app.notifications(of: author).isEmpty)
    }
  }

  @Test func checkingWaitsForAnUpdateAndCountsWhatItAdded() async throws {
    try await race { app, author, fan, post in
      try await app.like(post, by: fan)
      try await app.interleave {
        try await NotificationUpdate.run([like(post, fan, author)], in: $0)
      } with: {
        try await app.check(upTo: EntityID.all.upperBound, of: author)
      }
      #expect(try await app.unread(of: author) == 0)
      #expect(try await app.notifications(of: author).map(\.isChecked) == [true])
    }
  }

  @Test func anUpdateWaitsForCheckingAndWhatItAddsIsUnread() async throws {
    try await race { app, author, fan, post in
      try await app.comment(post, by: fan)
      try await app.drain()
      try await app.like(post, by: fan)
      try await app.interleave {
        try await Notifications.check(upTo: EntityID.all.upperBound, of: author, in: $0.sql)
      } with: {
        try await app.update(like(post, fan, author))
      }
      #expect(try await app.unread(of: author) == 1)
      #expect(try await app.notifications(of: author).map(\.isChecked) == [false, true])
    }
  }

  @Test func twoDevicesThatCheckAtOnceGoForward() async throws {
    try await race { app, author, fan, post in
      for _ in 0..<4 {
        try await app.comment(post, by: fan)
        try await app.drain()
      }
      let ids = try await app.notifications(of: author).map(\.id)
      try await app.interleave {
        try await Notifications.check(upTo: ids[1], of: author, in: $0.sql)
      } with: {
        try await app.check(upTo: ids[3], of: author)
      }
      #expect(try await app.notifications(of: author).map(\.isChecked) == [false, true, true, true])
      try await app.interleave {
        try await Notifications.check([ids[0]], of: author, in: $0.sql)
      } with: {
        try await app.check(ids[0], of: author)
      }
      #expect(try await app.unread(of: author) == 0)
    }
  }

  @Test func aCheckedFollowStaysWhoeverWasFirst() async throws {
    try await race { app, author, fan, _ in
      try await app.follow(author, by: fan)
      try await app.drain()
      try await app.unfollow(author, by: fan)
      // The check comes first: the notification was seen, and stays.
      try await app.interleave {
        try await Notifications.check(upTo: EntityID.all.upperBound, of: author, in: $0.sql)
      } with: {
        try await app.update(NotificationUpdate(followOf: author, by: fan))
      }
      #expect(try await app.notifications(of: author).map(\.isChecked) == [true])
    }
  }

  @Test func twoUpdatesOfTheSameOwnersInOppositeOrderDoNotMeetHeadOn() async throws {
    try await App.run { app in
      let ids = try await app.accounts(12)
      for owner in ids[..<6] { for fan in ids[6...] { try await app.follow(owner, by: fan) } }
      try await app.pool.execute("DELETE FROM jobs")
      let updates = ids[..<6].flatMap { owner in ids[6...].map { NotificationUpdate(followOf: owner, by: $0) } }
      // Arrays made from a set, in another order each time.
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<6 {
          group.addTask { for _ in 0..<20 { try await app.update(updates.shuffled()) } }
        }
        try await group.waitForAll()
      }
      try await app.expectExactNotifications()
      #expect(try await app.count("SELECT sum(unread)::bigint FROM notification_counts") == 36)
    }
  }

  private func like(_ post: Int, _ fan: Int, _ author: Int) -> NotificationUpdate {
    NotificationUpdate(like: post, by: fan, to: author)
  }

  /// Runs `body` with an author, a fan and a post; then everything must be exact, without a job that could repair an
  /// error.
  private func race(
    _ body: @Sendable (App, _ author: Int, _ fan: Int, _ post: Int) async throws -> Void
  ) async throws {
    try await App.run { app in
      let ids = try await app.accounts(2)
      let post = try await app.post(by: ids[0])
      // An owner's first notification inserts a row, and two such inserts alone would wait for each other.
      try await app.pool.execute("INSERT INTO notification_counts (owner_id) VALUES (\(ids[0]))")
      try await body(app, ids[0], ids[1], post)
      try await app.pool.execute("DELETE FROM jobs")
      try await app.expectExactNotifications()
    }
  }
}

extension App {
  /// Does the jobs' work at once.
  func update(_ updates: NotificationUpdate...) async throws { try await update(updates) }

  func update(_ updates: [NotificationUpdate]) async throws {
    try await client.transaction { try await NotificationUpdate.run(updates, in: $0) }
  }

  func deleteAndSweep(_ post: Int, by author: Int) async throws {
    try await delete(post, by: author)
    try await client.transaction { try await DeletePostReactions(post: post, author: author).run(in: $0) }
  }
}
