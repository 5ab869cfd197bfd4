import Foundation
import Testing

@testable import FanmillClient

/// Posts, comments, likes, feeds and notifications, against the stack at `FANMILL_TEST_URL`.
@Suite(.enabled(if: LiveStack.url != nil), .timeLimit(.minutes(5))) struct LivePostTests {
  @Test func postsCommentsLikesFeedsNotifications() async throws {
    let (ann, annName) = try await LiveStack.account("ann")
    let (bob, bobName) = try await LiveStack.account("bob")
    try await bob.users.follow(annName)
    var ids: [Int] = []
    for number in 1...5 {
      ids.append(try await ann.posts.create(PostDraft(title: "Sketch \(number)", description: "of \(annName)")).id)
    }
    _ = try await LiveStack.eventually("the posts in the feed") {
      var seen: [Int] = []
      for try await post in bob.feed.following(limit: 2) { seen.append(post.id) }
      return seen == ids.reversed() ? true : nil
    }
    let fanOut = try await LiveStack.eventually("the fan-out") {
      let fanOut = try await ann.posts.fanOut(of: ids[0])
      return fanOut.done ? fanOut : nil
    }
    #expect(fanOut.delivered == 1 && fanOut.mode == .push)
    #expect(try await ann.feed.following(includesOwn: true).page().items.count == 5)
    #expect(try await ann.feed.home(limit: 3).page().items.count == 3)
    var mine: [Int] = []
    for try await post in ann.users.posts(of: annName, limit: 2) { mine.append(post.id) }
    #expect(mine == ids.reversed())
    _ = try await LiveStack.eventually("the posts in a search") {
      try await bob.posts.search(annName).page().items.count == 5 ? true : nil
    }

    let edited = try await ann.posts.edit(ids[0], PostChanges(title: "Finished"))
    #expect(edited.title == "Finished" && edited.editedAt != nil && edited.isMine)
    let foreign = await #expect(throws: FanmillError.self) { try await bob.posts.delete(ids[0]) }
    #expect(foreign?.code == .notYours && foreign?.status == 403)

    try await bob.likes.add(ids[0])
    let comment = try await bob.comments.create(on: ids[0], text: "안녕 👋")
    try await bob.comments.create(on: ids[0], text: "Second")
    try await bob.comments.create(on: ids[0], text: "Third")
    var texts: [String] = []
    for try await comment in ann.comments.list(on: ids[0], order: .oldest, limit: 2) { texts.append(comment.text) }
    #expect(texts == ["안녕 👋", "Second", "Third"])
    try await ann.comments.delete(comment.id, on: ids[0])
    #expect(try await bob.likes.list().page().items.map(\.id) == [ids[0]])

    let items = try await LiveStack.eventually("the notifications") {
      let items = try await ann.notifications.list().page().items
      return Set(items.map(\.type)).count == 3 ? items : nil
    }
    let like = try #require(items.first { $0.type == .like })
    #expect(like.username == bobName && like.postId == ids[0] && like.post?.title == "Finished" && !like.isChecked)
    #expect(items.first { $0.type == .follow }?.isFollowed == false)
    // The follow, the like, and the two comments that were not deleted.
    let single = try await LiveStack.eventually("all notifications") {
      let items = try await ann.notifications.list(isGrouped: false).page().items
      return items.count == 4 ? items : nil
    }
    #expect(try await ann.notifications.unread().dot)
    _ = try await ann.notifications.check([like.id])
    #expect(try await ann.notifications.check(upTo: try #require(single.map(\.id).max())).unread == 0)

    try await bob.likes.remove(ids[0])
    try await ann.posts.delete(ids[0])
    let gone = await #expect(throws: FanmillError.self) { _ = try await bob.posts.post(ids[0]) }
    #expect(gone?.code == .notFound)
    let empty = await #expect(throws: FanmillError.self) { _ = try await ann.posts.create(PostDraft(title: "")) }
    #expect(empty?.code == .invalid("title") && empty?.field == "title")
  }
}
