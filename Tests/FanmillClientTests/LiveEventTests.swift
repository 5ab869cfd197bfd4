import Foundation
import Testing

@testable import FanmillClient

/// Messages and the event stream, against the stack at `FANMILL_TEST_URL`.
@Suite(.enabled(if: LiveStack.url != nil), .timeLimit(.minutes(5))) struct LiveEventTests {
  @Test func messages() async throws {
    let (ann, annName) = try await LiveStack.account("ann")
    let (bob, bobName) = try await LiveStack.account("bob")
    for text in ["one", "two", "three"] { try await ann.conversations.send(text, to: bobName) }
    let conversation = try #require(try await bob.conversations.list().page().items.first)
    #expect(conversation.with.username == annName && conversation.unread == 3 && conversation.last.text == "three")
    var texts: [String] = []
    for try await message in bob.conversations.messages(with: annName, limit: 2) { texts.append(message.text) }
    #expect(texts == ["three", "two", "one"])
    #expect(try await bob.conversations.read(upTo: conversation.last.id, with: annName) == 0)
    try await ann.reports.create(.user(bobName), reason: .other)
    let report = await #expect(throws: FanmillError.self) {
      try await ann.reports.create(.message(conversation.last.id), reason: .harassment)
    }
    #expect(report != nil)
    #expect(try await bob.reports.create(.message(conversation.last.id), reason: .harassment) > 0)
  }

  @Test func eventsAndTheirResumption() async throws {
    let (ann, annName) = try await LiveStack.account("ann")
    let (bob, _) = try await LiveStack.account("bob")
    let post = try await ann.posts.create(PostDraft(title: "Open"))
    var events = ann.events.stream(posts: [post.id]).makeAsyncIterator()
    #expect(try await events.next()?.kind == .connected(resumed: false))
    #expect(try await events.next()?.kind == .counts(StreamEvent.Counts(postId: post.id, likes: 0, comments: 0)))
    try await bob.conversations.send("hello", to: annName)
    let message = try #require(try await events.next())
    guard case .message(let said) = message.kind else {
      Issue.record("\(message)")
      return
    }
    #expect(said.text == "hello" && !said.own && message.id != nil)
    try await bob.comments.create(on: post.id, text: "Nice")
    var kinds: Set<String> = []
    while !kinds.isSuperset(of: ["comment", "notification", "thread"]) {
      switch try #require(try await events.next()).kind {
      case .comment(let said):
        #expect(said.text == "Nice" && said.comment?.text ?? "Nice" == "Nice")
        kinds.insert(said.comment == nil ? "comment" : "thread")
      case .notification(let notification):
        #expect(notification.type == .comment && notification.postId == post.id)
        kinds.insert("notification")
      default: break
      }
    }

    // A second stream, from the message on, has what came after it.
    try await bob.conversations.send("missed", to: annName)
    var resumed = ann.events.stream(posts: [post.id], after: message.id).makeAsyncIterator()
    #expect(try await resumed.next()?.kind == .connected(resumed: true))
    var texts: [String] = []
    while texts.isEmpty {
      if case .message(let message) = try #require(try await resumed.next()).kind { texts.append(message.text) }
    }
    #expect(texts == ["missed"])
  }

  @Test func aStreamEndsWithItsSessionOrItsTask() async throws {
    let (ann, _) = try await LiveStack.account("ann")
    let hasOpened = Noted<Bool>()
    let listening = Task {
      for try await event in ann.events.stream() where event.kind == .connected(resumed: false) { hasOpened.note(true) }
    }
    while hasOpened.values.isEmpty { try await Task.sleep(for: .milliseconds(20)) }
    listening.cancel()
    try await listening.value

    var events = ann.events.stream().makeAsyncIterator()
    _ = try await events.next()
    try await ann.signOut()
    let error = await #expect(throws: FanmillError.self) {
      while try await events.next() != nil {}
    }
    #expect(error?.code == .notSignedIn)
  }

  @Test func releasedStreamsEnd() async throws {
    let (ann, _) = try await LiveStack.account("ann")
    // An account may have five streams, so eight in turn work only if each ends when it is released.
    for _ in 1...8 {
      var events = ann.events.stream().makeAsyncIterator()
      #expect(try await events.next()?.kind == .connected(resumed: false))
    }
  }
}
