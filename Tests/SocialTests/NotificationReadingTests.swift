import DurableJobs
import Foundation
import LibPQClient
import Testing

@testable import Social

/// Groups, pages, checking, and the retention of notifications.
@Suite(.timeLimit(.minutes(2))) struct NotificationReadingTests {
  @Test func likesOfOnePostInOneDayAreOneItem() async throws {
    try await App.run { app in
      let ids = try await app.accounts(6)
      let (one, two) = (try await app.post(by: ids[0]), try await app.post(by: ids[0]))
      for fan in ids[1...4] {
        try await app.like(one, by: fan)
        try await app.drain()
      }
      try await app.like(two, by: ids[5])
      try await app.drain()
      try await app.comment(one, by: ids[1])
      try await app.comment(one, by: ids[2])
      try await app.drain()
      // As if liked the day before yesterday.
      try await app.pool.pipeline([
        "UPDATE likes SET created_at = created_at - interval '2 days' WHERE account_id = \(ids[1])",
        "UPDATE notifications SET created_at = created_at - interval '2 days' WHERE actor_id = \(ids[1]) AND type = 0",
      ])
      let items = try await app.notifications(of: ids[0], grouped: true)
      #expect(items.map(\.type) == [.comment, .comment, .like, .like, .like])
      #expect(items.map(\.count) == [1, 1, 1, 3, 1])
      #expect(items[3].actors.map(\.id) == [ids[4], ids[3], ids[2]] && items[3].post == one)
      #expect(items[4].actors.map(\.id) == [ids[1]] && items[4].post == one)
      #expect(items[2].post == two)
      #expect(try await app.notifications(of: ids[0]).count == 7)
      #expect(try await app.unread(of: ids[0]) == 7)
      try await app.expectExactNotifications()
    }
  }

  @Test func aGroupNamesItsNewestActors() async throws {
    try await App.run { app in
      let ids = try await app.accounts(8)
      let post = try await app.post(by: ids[0])
      for fan in ids[1...] {
        try await app.like(post, by: fan)
        try await app.drain()
      }
      let items = try await app.notifications(of: ids[0], grouped: true)
      #expect(items.map(\.count) == [7])
      #expect(items[0].actors.map(\.id) == ids.suffix(Notifications.actorsShown).reversed())
    }
  }

  @Test func aGroupIsUnreadAgainWhenItGrows() async throws {
    try await App.run { app in
      let ids = try await app.accounts(5)
      let post = try await app.post(by: ids[0])
      for fan in ids[1...2] { try await app.like(post, by: fan) }
      try await app.drain()
      let group = try #require(try await app.notifications(of: ids[0], grouped: true).first)
      #expect(group.count == 2 && !group.isChecked)
      // It grows before the reader checks the page: the newcomer is not checked with it.
      try await app.like(post, by: ids[3])
      try await app.drain()
      try await app.check(group.id, of: ids[0])
      #expect(try await app.unread(of: ids[0]) == 1)
      let grown = try #require(try await app.notifications(of: ids[0], grouped: true).first)
      #expect(grown.count == 3 && !grown.isChecked && grown.id > group.id)
      try await app.check(upTo: grown.id, of: ids[0])
      #expect(try await app.notifications(of: ids[0], grouped: true).map(\.isChecked) == [true])
      #expect(try await app.unread(of: ids[0]) == 0)
      try await app.like(post, by: ids[4])
      try await app.drain()
      let last = try #require(try await app.notifications(of: ids[0], grouped: true).first)
      #expect(last.count == 4 && !last.isChecked)
      #expect(try await app.unread(of: ids[0]) == 1)
      try await app.expectExactNotifications()
    }
  }

  @Test func oneOfAGroupIsCheckedAlone() async throws {
    try await App.run { app in
      let ids = try await app.accounts(4)
      let post = try await app.post(by: ids[0])
      for fan in ids[1...] { try await app.like(post, by: fan) }
      try await app.drain()
      let single = try await app.notifications(of: ids[0])
      try await app.check(single[1].id, of: ids[0])
      try await app.check(single[1].id, of: ids[0])
      #expect(try await app.notifications(of: ids[0]).map(\.isChecked) == [false, true, false])
      #expect(try await app.unread(of: ids[0]) == 2)
      try await app.check(single[2].id, single[0].id, of: ids[0])
      #expect(try await app.unread(of: ids[0]) == 0)
      try await app.expectExactNotifications()
    }
  }

  @Test func checkingUpToHereOnlyGoesForward() async throws {
    try await App.run { app in
      let ids = try await app.accounts(7)
      for follower in ids[1...5] {
        try await app.follow(ids[0], by: follower)
        try await app.drain()
      }
      let items = try await app.notifications(of: ids[0])
      try await app.check(items[0].id, of: ids[0])
      try await app.check(upTo: items[2].id, of: ids[0])
      #expect(try await app.unread(of: ids[0]) == 1)
      // The other device was behind.
      try await app.check(upTo: items[4].id, of: ids[0])
      try await app.check(upTo: 0, of: ids[0])
      #expect(try await app.unread(of: ids[0]) == 1)
      #expect(try await app.notifications(of: ids[0]).map(\.isChecked) == [true, false, true, true, true])
      // Later ones are unread, however great the number was.
      try await app.check(upTo: EntityID.all.upperBound, of: ids[0])
      try await app.follow(ids[0], by: ids[6])
      try await app.drain()
      #expect(try await app.unread(of: ids[0]) == 1)
      try await app.expectExactNotifications()
    }
  }

  @Test func onlyOnesOwnAreChecked() async throws {
    try await App.run { app in
      let ids = try await app.accounts(3)
      try await app.follow(ids[0], by: ids[1])
      try await app.drain()
      let item = try #require(try await app.notifications(of: ids[0]).first)
      let refused = try await code { try await app.check(item.id, of: ids[2]) }
      #expect(refused == .notFound)
      try await app.check(upTo: item.id, of: ids[2])
      #expect(try await app.unread(of: ids[0]) == 1)
      #expect(try await app.notifications(of: ids[0]).map(\.isChecked) == [false])
      // An item deleted meanwhile does not keep the others from being checked.
      try await app.check(item.id, 4711, of: ids[0])
      #expect(try await app.unread(of: ids[0]) == 0)
      let wrong = try await code {
        try await app.pool.transaction { try await Notifications.check([], of: ids[0], in: $0) }
      }
      #expect(wrong == .invalid("ids"))
      try await app.expectExactNotifications()
    }
  }

  @Test(arguments: [true, false]) func pagesFollowOneAnother(grouped: Bool) async throws {
    try await App.run { app in
      let ids = try await app.accounts(8)
      let posts = [try await app.post(by: ids[0]), try await app.post(by: ids[0]), try await app.post(by: ids[0])]
      for (index, fan) in ids[1...].enumerated() {
        try await app.like(posts[index % 3], by: fan)
        if index.isMultiple(of: 2) { try await app.follow(ids[0], by: fan) }
        try await app.drain()
      }
      let all = try await app.notifications(of: ids[0], grouped: grouped)
      #expect(all.count == (grouped ? 7 : 11))
      #expect(all.map(\.id) == all.map(\.id).sorted(by: >))
      var seen: [NotificationItem] = []
      var cursor: Int?
      repeat {
        let page = try await Notifications.list(
          of: ids[0], grouped: grouped, try PageRequest(before: cursor, limit: 2), in: app.pool)
        seen += page.items
        cursor = page.next
        // A group that has been shown grows, but is not shown again.
        if seen.count == 4 {
          try await app.pool.execute(
            """
            WITH grown AS (SELECT post_id FROM notifications WHERE type = 0 ORDER BY id DESC LIMIT 1)
            INSERT INTO notifications (owner_id, actor_id, type, post_id, created_at)
            SELECT \(ids[0]), 4711, 0, post_id, now() FROM grown
            """)
        }
      } while cursor != nil
      #expect(seen == all)
    }
  }

  @Test func whatIsOldOrBeyondTheNewestGoes() async throws {
    var sizes = NotificationSizes()
    (sizes.kept, sizes.budget, sizes.ownersPage) = (10, 4, 2)
    try await NotificationSizes.$current.withValue(sizes) {
      try await App.run { app in
        let ids = try await app.accounts(18)
        let owners = Array(ids[..<5])
        // The first has too many, the second and the last have old ones, the others neither.
        for follower in ids[5...] { try await app.follow(owners[0], by: follower) }
        for owner in owners[1...] { for follower in ids[5..<10] { try await app.follow(owner, by: follower) } }
        try await app.drain()
        try await app.check(upTo: try await app.notifications(of: owners[0])[11].id, of: owners[0])
        for owner in [owners[1], owners[4]] {
          for (table, whose, by) in [
            ("follows", "followee_id", "follower_id"), ("notifications", "owner_id", "actor_id"),
          ] {
            try await app.pool.execute(
              """
              UPDATE \(unescaped: table) SET created_at = created_at - interval '7 months'
              WHERE \(unescaped: whose) = \(owner) AND \(unescaped: by) <= \(ids[7])
              """)
          }
        }
        let newest = try await app.notifications(of: owners[0]).prefix(10).map(\.id)
        try await app.client.enqueue(NotificationRetention())
        try await app.drain()
        #expect(try await app.notifications(of: owners[0]).map(\.id) == newest)
        #expect(try await app.unread(of: owners[0]) == 10)
        var counts: [Int] = []
        for owner in owners[1...] { counts.append(try await app.unread(of: owner)) }
        #expect(counts == [2, 5, 5, 2])
        try await app.expectExactNotifications()
        // Trimmed notifications are not created again.
        try await app.client.enqueue(ids[5...].map { NotificationUpdate(followOf: owners[0], by: $0) })
        try await app.client.enqueue(ids[5...].map { NotificationUpdate(followOf: owners[1], by: $0) })
        try await app.drain()
        #expect(try await app.notifications(of: owners[0]).map(\.id) == newest)
        #expect(try await app.unread(of: owners[1]) == 2)
        try await app.expectExactNotifications()
      }
    }
  }

  @Test func anOwnerWithFarTooManyIsTrimmedAtOnce() async throws {
    var sizes = NotificationSizes()
    (sizes.kept, sizes.budget) = (5, 4)
    try await NotificationSizes.$current.withValue(sizes) {
      try await App.run { app in
        let ids = try await app.accounts(14)
        let post = try await app.post(by: ids[0])
        for fan in ids[1...10] { try await app.like(post, by: fan) }
        try await app.drain()
        #expect(try await app.unread(of: ids[0]) == 10)
        for fan in ids[11...] { try await app.like(post, by: fan) }
        try await app.drain()
        #expect((5...10).contains(try await app.unread(of: ids[0])))
        try await app.expectExactNotifications()
      }
    }
  }
}
