import FanmillClient
import Foundation

/// Art students: finding each other, following, writing, and keeping one's peace.
enum StudentsApp {
  static func walk(_ walk: Walk) async throws {
    walk.screen("Sign up")
    let major = "Sculpture \(walk.suffix)"
    var minsu = try await walk.signUp("minsu", "김민수", major: major)
    let jiwoo = try await walk.signUp("jiwoo", "박지우", major: major)
    let spam = try await walk.signUp("spam", "Buy Brushes")
    for person in [minsu, jiwoo, spam] { walk.show("\(person.name)  @\(person.username)") }

    walk.screen("Find students")
    for query in [major, "ㅂㅈㅇ \(walk.suffix)", "박지 \(walk.suffix)"] {
      let found = try await walk.eventually("@\(jiwoo.username) for ‘\(query)’") {
        try await minsu.client.users.search(query).page().items.first
      }
      walk.show("\(query): \(found.name), \(found.major)  [ Follow ]")
      walk.expect("who is found", found.username, jiwoo.username)
      walk.expect("the button", found.isFollowed, false)
    }

    try await follow(walk, minsu, jiwoo)
    try await feed(walk, minsu, jiwoo)
    try await write(walk, minsu, jiwoo)
    try await rename(walk, &minsu, jiwoo)
    try await keepPeace(walk, minsu, spam)
    try await leave(walk, minsu, jiwoo)
  }

  private static func follow(_ walk: Walk, _ minsu: Person, _ jiwoo: Person) async throws {
    walk.screen("Profile")
    try await minsu.client.users.follow(jiwoo.username)
    try await jiwoo.client.me.change(ProfileChanges(bio: "Clay and wire"))
    let profile = try await minsu.client.users.profile(jiwoo.username)
    walk.show(
      "\(profile.name), \(profile.major)", profile.bio,
      "Posts \(profile.posts)  Followers \(profile.followers)  Following \(profile.following)  [ Following ]")
    walk.expect("the counts", [profile.posts, profile.followers, profile.following], [0, 1, 0])
    walk.expect("the button", profile.isFollowed)
    walk.expect("the bio", profile.bio, "Clay and wire")
    let followers = try await jiwoo.client.users.followers(of: jiwoo.username).page().items
    walk.expect("the followers", followers.map(\.username), [minsu.username])
    await walk.expectRefusal(.cannotFollowYourself) { try await minsu.client.users.follow(minsu.username) }
  }

  private static func feed(_ walk: Walk, _ minsu: Person, _ jiwoo: Person) async throws {
    walk.screen("The feed, page by page")
    var ids: [Post.ID] = []
    for day in 1...7 {
      ids.append(
        try await jiwoo.client.posts.create(PostDraft(title: "Day \(day)", description: "Head, \(walk.suffix)")).id)
    }
    ids.reverse()
    let following = minsu.client.feed.following(limit: 3)
    _ = try await walk.eventually("seven posts") {
      try await following.reduce(into: 0) { count, _ in count += 1 } == 7 ? true : nil
    }
    var (cursor, pages): (PageCursor?, [[Post.ID]]) = (nil, [])
    repeat {
      let page = try await following.page(after: cursor)
      walk.show(page.items.map(\.title).joined(separator: "   ") + (page.next == nil ? "" : "   ⌄"))
      pages.append(page.items.map(\.id))
      cursor = page.next
    } while cursor != nil
    walk.expect("the pages", pages.map(\.count), [3, 3, 1])
    walk.expect("newest first, each once", pages.flatMap(\.self), ids)
    let found = try await walk.eventually("the posts in a search") {
      let found = try await minsu.client.posts.search("head \(walk.suffix)").page().items
      return found.count == 7 ? found : nil
    }
    walk.expect("the search", found.map(\.id), ids)
  }

  private static func write(_ walk: Walk, _ minsu: Person, _ jiwoo: Person) async throws {
    walk.screen("Messages")
    var news = try await Listener(jiwoo)
    try await minsu.client.conversations.send("Do you have clay left?", to: jiwoo.username)
    let message = try await news.first { kind -> StreamEvent.Message? in
      if case .message(let message) = kind { message } else { nil }
    }
    walk.show("🔔 \(message.username): \(message.text)")
    walk.expect("the sender", message.username, minsu.username)
    try await jiwoo.client.conversations.send("두 상자 🧱", to: minsu.username)
    let conversation = try await minsu.client.conversations.list().page().items.first
    walk.show("\(conversation?.with.name ?? "")  \(conversation?.last.text ?? "")  (\(conversation?.unread ?? 0))")
    walk.expect("unread", conversation?.unread, 1)
    let thread = try await minsu.client.conversations.messages(with: jiwoo.username).page().items
    for message in thread.reversed() { walk.show("\(message.own ? "›" : "‹") \(message.text)") }
    walk.expect("the thread", thread.map(\.text), ["두 상자 🧱", "Do you have clay left?"])
    let left = try await minsu.client.conversations.read(upTo: thread.first?.id ?? 0, with: jiwoo.username)
    walk.expect("unread after reading", left, 0)
  }

  private static func rename(_ walk: Walk, _ minsu: inout Person, _ jiwoo: Person) async throws {
    walk.screen("A new username")
    let former = minsu.username
    await walk.expectRefusal(.usernameTaken) { [minsu] in
      try await minsu.client.me.change(ProfileChanges(username: jiwoo.username))
    }
    minsu.username = walk.name("kim")
    try await minsu.client.me.change(ProfileChanges(username: minsu.username))
    let found = try await jiwoo.client.users.profile(former).username
    walk.show("@\(former) leads to @\(found)")
    walk.expect("the old name", found, minsu.username)
    try await jiwoo.client.users.follow(former)
    walk.expect("followed under the old name", try await jiwoo.client.users.profile(minsu.username).isFollowed)
  }

  private static func keepPeace(_ walk: Walk, _ minsu: Person, _ spam: Person) async throws {
    walk.screen("Mute, report, block")
    try await spam.client.conversations.send("BUY BRUSHES", to: minsu.username)
    let thread = try await minsu.client.conversations.messages(with: spam.username).page().items
    let report = try await minsu.client.reports.create(.message(thread.first?.id ?? 0), reason: .spam)
    let again = try await minsu.client.reports.create(.message(thread.first?.id ?? 0), reason: .spam, text: "Again")
    walk.show("Thank you for report \(report)")
    walk.expect("one report", again, report)
    try await minsu.client.users.mute(spam.username)
    walk.expect("muted", try await minsu.client.me.mutes().page().items.map(\.username), [spam.username])
    try await minsu.client.users.block(spam.username)
    walk.expect("blocked", try await minsu.client.me.blocks().page().items.map(\.username), [spam.username])
    await walk.expectRefusal(.notFound) {
      try await spam.client.conversations.send("BUY MORE", to: minsu.username)
    }
    let conversations = try await minsu.client.conversations.list().page().items
    walk.expect("the conversation is gone", !conversations.contains { $0.with.username == spam.username })
  }

  private static func leave(_ walk: Walk, _ minsu: Person, _ jiwoo: Person) async throws {
    walk.screen("Settings")
    for session in try await jiwoo.client.sessions.list() {
      walk.show("\(session.client ?? "")  \(session.network ?? "")\(session.isCurrent ? "  this phone" : "")")
    }
    walk.expect("the sessions", try await jiwoo.client.sessions.list().map(\.client), ["screens"])
    await walk.expectRefusal(.wrongPassword) { try await jiwoo.client.me.delete(password: "not the password") }
    walk.expect("deleted", try await jiwoo.client.me.delete(password: Walk.password), .done)
    await walk.expectRefusal(.notFound) { _ = try await minsu.client.users.profile(jiwoo.username) }
    let kept = try await minsu.client.conversations.list().page().items.first
    walk.show("\(kept?.with.name ?? "")  \(kept?.last.text ?? "")")
    walk.expect("the messages stay", kept?.last.text, "두 상자 🧱")
    walk.expect("from a deleted account", kept?.with.username.first, "~")
  }
}
