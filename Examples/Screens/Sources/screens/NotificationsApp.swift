import FanmillClient
import Foundation

/// Notifications: likes, comments and followers, live and in groups.
enum NotificationsApp {
  static func walk(_ walk: Walk) async throws {
    walk.screen("Sign up")
    let ann = try await walk.signUp("ann", "Ann")
    let bob = try await walk.signUp("bob", "Bob")
    let cyd = try await walk.signUp("cyd", "Cyd")
    walk.show("@\(ann.username), @\(bob.username), @\(cyd.username)")

    walk.screen("Ann's tab bar")
    let before = try await ann.client.notifications.unread()
    walk.show("Home   Search   Alerts\(before.dot ? " •" : "")   Me")
    walk.expect("no dot", !before.dot && before.unread == 0)

    walk.screen("Ann posts, the others react")
    let post = try await ann.client.posts.create(PostDraft(title: "Sunrise", description: "From the roof"))
    var news = try await Listener(ann)
    try await bob.client.likes.add(post.id)
    try await walk.expectNews(&news, .like, from: bob)
    try await cyd.client.likes.add(post.id)
    try await walk.expectNews(&news, .like, from: cyd)
    try await bob.client.comments.create(on: post.id, text: "Where is this?")
    try await walk.expectNews(&news, .comment, from: bob)
    try await cyd.client.users.follow(ann.username)
    try await walk.expectNews(&news, .follow, from: cyd)

    walk.screen("Alerts")
    let items = try await alerts(walk, ann)
    walk.expect("the alerts, newest first", items.map(\.type), [.follow, .comment, .like])
    walk.expect("all unread", items.allSatisfy { !$0.isChecked })
    if let like = items.last {
      walk.expect("the group", like.count, 2)
      walk.expect("its actors", like.actors.map(\.username), [cyd.username, bob.username])
      walk.expect("its post", like.post?.title, "Sunrise")
    }
    walk.expect("the comment", items.first { $0.type == .comment }?.comment?.text, "Where is this?")
    var single: [NotificationItem] = []
    for try await item in ann.client.notifications.list(isGrouped: false, limit: 2) { single.append(item) }
    walk.expect("one by one", single.count, 4)

    walk.screen("Ann follows back")
    walk.expect("the button", items.first?.isFollowed, false)
    try await ann.client.users.follow(cyd.username)
    walk.expect("the button", try await ann.client.notifications.list().page().items.first?.isFollowed, true)
    walk.show("@\(cyd.username)  [ Following ]")

    walk.screen("Ann has seen it, on two phones")
    var tablet = try await Listener(ann)
    let after = try await ann.client.notifications.check(upTo: items.map(\.id).max() ?? 0)
    walk.expect("no dot", !after.dot && after.unread == 0)
    let left = try await tablet.first { kind -> Int? in if case .checked(let unread) = kind { unread } else { nil } }
    walk.show("The tablet's dot goes out: \(left) unread")
    walk.expect("the tablet", left, 0)
    walk.expect("all read", try await ann.client.notifications.list().page().items.allSatisfy(\.isChecked))

    walk.screen("Bob takes his like back")
    try await bob.client.likes.remove(post.id)
    let like = try await walk.eventually("the like is gone") {
      let like = try await ann.client.notifications.list().page().items.first { $0.type == .like }
      return like?.count == 1 ? like : nil
    }
    walk.show("\(like.username ?? "") likes ‘\(like.post?.title ?? "")’")
    walk.expect("who is left", like.username, cyd.username)
  }

  private static func alerts(_ walk: Walk, _ person: Person) async throws -> [NotificationItem] {
    let items = try await person.client.notifications.list().page().items
    for item in items {
      let others = item.count > 1 ? " and \(item.count - 1) more" : ""
      let what =
        switch item.type {
        case .like: "like ‘\(item.post?.title ?? "a post")’"
        case .comment: "wrote on ‘\(item.post?.title ?? "a post")’: \(item.comment?.text ?? "")"
        case .follow: "follows you\(item.isFollowed == true ? "" : "  [ Follow ]")"
        default: "…"
        }
      walk.show("\(item.isChecked ? " " : "•") \(item.actors.first?.name ?? "")\(others) \(what)")
    }
    return items
  }
}

extension Walk {
  /// Waits for a notification to arrive on a screen.
  fileprivate func expectNews(_ news: inout Listener, _ type: NotificationType, from person: Person) async throws {
    let notification = try await news.first { kind -> StreamEvent.Notification? in
      if case .notification(let notification) = kind { notification } else { nil }
    }
    show("• \(notification.username), \(notification.unread) unread")
    expect("the type", notification.type, type)
    expect("the actor", notification.username, person.username)
  }
}
