import DurableJobs
import DurableJobsAdmin
import DurableJobsPostgres
import DurableJobsRedis
import Foundation
import LibPQClient
import LocalStack
import SocialAdmin
import TestSupport
import Testing

@testable import Social
@testable import SocialAPI

/// `events?posts=…` and the events for a client's other devices.
@Suite(.timeLimit(.minutes(2))) struct LiveRouteTests {
  private func comment(_ text: String, on post: Int, as token: String, _ api: API) async throws -> Int {
    let reply = try await api.send("POST", "/v1/posts/\(post)/comments", as: token, #"{"text":"\#(text)"}"#)
    return try #require(reply.json["id"] as? Int, "\(reply.json)")
  }

  /// The next event except `likes`, which arrive at any time.
  private func next(_ source: EventSource, but passed: Set<String> = ["likes"]) async throws -> EventSource.Event {
    while true {
      let event = try #require(await source.next())
      if !passed.contains(try kind(event)) { return event }
    }
  }

  /// The event's name; `thread` for a comment in an open thread.
  private func kind(_ event: EventSource.Event) throws -> String {
    try event.name == "comment" && event.fields()["comment"] != nil ? "thread" : event.name
  }

  @Test("Comments come and go before everybody who has the post open")
  func threads() async throws {
    try await API.run { api in
      let (ann, bob, eve) = (try await api.open("ann"), try await api.open("bob"), try await api.open("eve"))
      let (post, other) = (try await api.post("one", as: ann), try await api.post("two", as: ann))
      let anns = try await EventSource(port: api.http.port, token: ann, posts: [post])
      let eves = try await EventSource(port: api.http.port, token: eve, posts: [post, other, 99])
      let elsewhere = try await EventSource(port: api.http.port, token: eve, posts: [other])
      // A missing post is reported as removed.
      #expect(try await next(eves).fields()["postId"] as? Int == 99)
      let first = try await comment("hello", on: post, as: bob, api)
      let own = try await comment("mine", on: post, as: ann, api)
      try await api.drain("notifications")
      for source in [anns, eves] {
        for (id, name) in [(first, "bob"), (own, "ann")] {
          let event = try await next(source, but: ["likes", "notification", "comment"])
          #expect(try kind(event) == "thread" && event.id != nil)
          let said = try #require(try event.fields()["comment"] as? [String: Any])
          #expect(said["id"] as? Int == id && (said["author"] as? [String: Any])?["username"] as? String == name)
        }
      }
      for id in [first, own] {
        #expect(try await api.send("DELETE", "/v1/posts/\(post)/comments/\(id)", as: ann).status == 204)
      }
      // However often the job runs.
      for _ in 0..<3 {
        _ = try await client(api).enqueue(NotificationUpdate(comment: first, on: post, by: 2, to: 1))
      }
      try await api.drain("notifications")
      for id in [first, own] {
        let event = try await next(eves)
        #expect(event.name == "comment_deleted")
        #expect(try event.fields() as? [String: Int] == ["postId": post, "id": id])
      }
      #expect(try await api.send("DELETE", "/v1/posts/\(post)", as: ann).status == 204)
      #expect(try await next(eves).fields() as? [String: Int] == ["postId": post])
      // A reader with another post open got none of it.
      _ = try await comment("here", on: other, as: bob, api)
      try await api.drain("notifications")
      #expect(try await next(elsewhere).fields()["postId"] as? Int == other)
      #expect(try await next(eves).fields()["postId"] as? Int == other)
    }
  }

  private func client(_ api: API) -> JobClient<RedisBroker, PostgresLedger> {
    JobClient(broker: api.broker, ledger: PostgresLedger(pool: api.pool), logger: logger)
  }

  @Test("Counts come at once to who opens a post, and soon after each like")
  func counts() async throws {
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      let post = try await api.post("one", as: ann)
      let source = try await EventSource(port: api.http.port, token: bob, posts: [post])
      func counted() async throws -> [Int] {
        let event = try await next(source, but: ["thread"])
        #expect(event.name == "likes")
        let fields = try event.fields()
        return [fields["likes"] as? Int ?? -1, fields["comments"] as? Int ?? -1]
      }
      #expect(try await counted() == [0, 0])
      _ = try await comment("hello", on: post, as: bob, api)
      for token in [ann, bob] { _ = try await api.send("PUT", "/v1/posts/\(post)/like", as: token) }
      try await api.drain("notifications")
      while try await counted() != [2, 1] {}
    }
  }

  @Test("Who connects again hears what was missed, deletions too, and nothing twice")
  func resume() async throws {
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      let post = try await api.post("one", as: ann)
      let first = try await EventSource(port: api.http.port, token: bob, posts: [post])
      let kept = try await comment("kept", on: post, as: ann, api)
      let short = try await comment("short", on: post, as: ann, api)
      try await api.drain("notifications")
      var heard: [String] = []
      func hear(_ source: EventSource) async throws -> String? {
        let event = try await next(source)
        let fields = try event.fields()
        let id = fields["id"] as? Int ?? (fields["comment"] as? [String: Any])?["id"] as? Int
        heard.append("\(try kind(event)) \(id ?? 0)")
        return event.id
      }
      // It is cut off between two events of the same transaction.
      let last = try await hear(first)
      first.hangUp()
      #expect(try await api.send("DELETE", "/v1/posts/\(post)/comments/\(short)", as: ann).status == 204)
      let late = try await comment("late", on: post, as: ann, api)
      try await api.drain("notifications")
      let second = try await EventSource(port: api.http.port, token: bob, posts: [post], lastEventID: last)
      for _ in 0..<2 { _ = try await hear(second) }
      // 'short' was added and removed while no stream was open: only its removal is sent.
      #expect(heard == ["thread \(kept)", "comment_deleted \(short)", "thread \(late)"])
      let end = try await comment("end", on: post, as: ann, api)
      try await api.drain("notifications")
      _ = try await hear(second)
      #expect(heard.last == "thread \(end)")
      // Events swept meanwhile are unknown: the client reads everything again.
      try await api.pool.execute("UPDATE live_events SET created_at = now() - interval '2 days'")
      _ = try await client(api).enqueue(SessionSweep())
      try await api.drain(.default)
      #expect(try await api.count("SELECT count(*) FROM live_events") == 0)
      let third = try await EventSource(port: api.http.port, token: bob, posts: [post], lastEventID: last)
      #expect(try await next(third).name == "reset")
      _ = try await comment("after", on: post, as: ann, api)
      try await api.drain("notifications")
      #expect(try kind(try await next(third)) == "thread")
    }
  }

  @Test("Who connects again hears what nobody else was there to hear")
  func nobodyElse() async throws {
    try await API.run { api in
      let (ann, eve) = (try await api.open("ann"), try await api.open("eve"))
      let post = try await api.post("one", as: ann)
      let first = try await EventSource(port: api.http.port, token: eve, posts: [post])
      _ = try await api.send("POST", "/v1/conversations/eve/messages", as: ann, #"{"text":"hello"}"#)
      let last = try #require(try await next(first).id)
      first.hangUp()
      try await eventually("it is gone") { api.events.count == 0 }
      let missed = try await comment("missed", on: post, as: ann, api)
      try await api.drain("notifications")
      let second = try await EventSource(port: api.http.port, token: eve, posts: [post], lastEventID: last)
      let event = try await next(second)
      #expect(try (event.fields()["comment"] as? [String: Any])?["id"] as? Int == missed)
      // What nobody heard and what is swept by now cannot be sent.
      second.hangUp()
      try await eventually("it is gone") { api.events.count == 0 }
      _ = try await comment("swept", on: post, as: ann, api)
      try await api.drain("notifications")
      try await api.pool.execute("UPDATE live_events SET created_at = now() - interval '2 days'")
      _ = try await client(api).enqueue(SessionSweep())
      try await api.drain(.default)
      let third = try await EventSource(port: api.http.port, token: eve, posts: [post], lastEventID: event.id)
      #expect(try await next(third).name == "reset")
    }
  }

  @Test("Own messages, readings and checks reach one's other devices")
  func otherDevices() async throws {
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      let post = try await api.post("one", as: ann)
      _ = try await api.send("PUT", "/v1/posts/\(post)/like", as: bob)
      try await api.drain("notifications")
      let phone = try await EventSource(port: api.http.port, token: ann)
      let bobs = try await EventSource(port: api.http.port, token: bob)
      _ = try await api.send("POST", "/v1/conversations/bob/messages", as: ann, #"{"text":"hello"}"#)
      let own = try await next(phone).fields()
      #expect(own["own"] as? Bool == true && own["username"] as? String == "bob" && own["text"] as? String == "hello")
      let reply = try await api.send("POST", "/v1/conversations/ann/messages", as: bob, #"{"text":"hi"}"#)
      let id = try #require(reply.json["id"] as? Int)
      #expect(try await next(phone).fields()["own"] as? Bool == false)
      _ = try await api.send("POST", "/v1/conversations/bob/read", as: ann, #"{"upTo":\#(id)}"#)
      let read = try await next(phone)
      #expect(read.name == "read")
      #expect(try read.fields()["username"] as? String == "bob" && read.fields()["unread"] as? Int == 0)
      let notification = try await api.send("GET", "/v1/notifications", as: ann).items[0]["id"] as? Int
      let checked = #"{"upTo":\#(try #require(notification))}"#
      #expect(try await api.send("POST", "/v1/notifications/checked", as: ann, checked).status == 200)
      let check = try await next(phone)
      #expect(check.name == "checked")
      #expect(try check.fields()["unread"] as? Int == 0)
      // Bob gets the two messages, and nothing about ann's reading.
      #expect(try await next(bobs).fields()["own"] as? Bool == false)
      #expect(try await next(bobs).fields()["own"] as? Bool == true)
      _ = try await api.send("POST", "/v1/conversations/bob/messages", as: ann, #"{"text":"bye"}"#)
      #expect(try await next(bobs).fields()["text"] as? String == "bye")
    }
  }

  @Test("What is read elsewhere says how many messages are unread in all conversations")
  func unreadElsewhere() async throws {
    try await API.run { api in
      let (ann, bob, cat) = (try await api.open("ann"), try await api.open("bob"), try await api.open("cat"))
      let sent = try await api.send("POST", "/v1/conversations/ann/messages", as: bob, #"{"text":"hello"}"#)
      _ = try await api.send("POST", "/v1/conversations/ann/messages", as: cat, #"{"text":"hi"}"#)
      let phone = try await EventSource(port: api.http.port, token: ann)
      let read = #"{"upTo":\#(try #require(sent.json["id"] as? Int))}"#
      #expect(try await api.send("POST", "/v1/conversations/bob/read", as: ann, read).json["unread"] as? Int == 1)
      #expect(try await next(phone).fields()["unread"] as? Int == 1)
    }
  }

  /// The position in `live_events` of an event's id.
  private func live(_ id: String?) throws -> Int {
    let parts = try #require(id).split(separator: "-").compactMap { Int($0) }
    try #require(parts.count == 5)
    return parts[2]
  }

  @Test("A stream goes on past live events that are not for it, and comes back to none of them")
  func positions() async throws {
    try await API.run(second: .milliseconds(10)) { api in
      let (ann, bob, eve) = (try await api.open("ann"), try await api.open("bob"), try await api.open("eve"))
      let (anns, eves) = (try await api.post("one", as: ann), try await api.post("two", as: eve))
      let source = try await EventSource(port: api.http.port, token: ann)
      let open = try await EventSource(port: api.http.port, token: eve, posts: [eves])
      _ = try await comment("early", on: eves, as: bob, api)
      try await api.drain("notifications")
      let early = try live(try await next(open, but: ["likes", "notification", "comment"]).id)
      _ = try await api.send("PUT", "/v1/posts/\(anns)/like", as: bob)
      try await api.drain("notifications")
      // An event of another kind says so.
      let like = try await next(source)
      #expect(like.name == "notification")
      #expect(try live(like.id) >= early)
      // Without an event, the minute's report says so. No stream has this post open.
      open.hangUp()
      try await eventually("the stream has ended") { api.events.streams.count == 1 }
      _ = try await comment("late", on: eves, as: bob, api)
      try await api.drain("notifications")
      let late = try await api.count("SELECT max(id) FROM live_events")
      var id = like.id
      while try live(id) < late { id = await source.nextID() }
      source.hangUp()
      let back = try await EventSource(port: api.http.port, token: ann, posts: [eves], lastEventID: id)
      _ = try await comment("new", on: eves, as: bob, api)
      try await api.drain("notifications")
      #expect((try await next(back).fields()["comment"] as? [String: Any])?["text"] as? String == "new")
    }
  }

  @Test("Who comes back to many messages gets all of them")
  func manyMessages() async throws {
    try await API.run { api in
      let (ann, bob) = (try await api.open("ann"), try await api.open("bob"))
      let first = try await api.send("POST", "/v1/conversations/ann/messages", as: bob, #"{"text":"first"}"#)
      let id = try #require(first.json["id"] as? Int)
      try await api.pool.execute(
        """
        SELECT send_message(b.id, a.id, 'more', 1000) FROM accounts a, accounts b, generate_series(1, 120)
        WHERE a.username = 'ann' AND b.username = 'bob'
        """)
      let source = try await EventSource(port: api.http.port, token: ann, lastEventID: "0-\(id)-0-0-0")
      var ids: [Int] = []
      while ids.count < 120 { ids.append(try #require(try await next(source).fields()["id"] as? Int)) }
      #expect(ids == Array(Set(ids)).sorted() && !ids.contains(id))
    }
  }

  @Test("Who is kept apart hears nothing of the other in a thread")
  func restrictions() async throws {
    try await API.run { api in
      let (ann, bob, eve) = (try await api.open("ann"), try await api.open("bob"), try await api.open("eve"))
      let post = try await api.post("one", as: eve)
      #expect(try await api.send("PUT", "/v1/users/bob/block", as: ann).status == 204)
      #expect(try await api.send("PUT", "/v1/users/bob/mute", as: eve).status == 204)
      let sources = [
        try await EventSource(port: api.http.port, token: ann, posts: [post]),
        try await EventSource(port: api.http.port, token: eve, posts: [post]),
      ]
      _ = try await comment("unheard", on: post, as: bob, api)
      try await api.drain("notifications")
      _ = try await comment("heard", on: post, as: eve, api)
      try await api.drain("notifications")
      for source in sources {
        let said = try await next(source).fields()["comment"] as? [String: Any]
        #expect(said?["text"] as? String == "heard")
      }
      let bobs = try await EventSource(port: api.http.port, token: bob, posts: [post])
      _ = try await comment("ann's", on: post, as: ann, api)
      _ = try await comment("eve's", on: post, as: eve, api)
      try await api.drain("notifications")
      #expect((try await next(bobs).fields()["comment"] as? [String: Any])?["text"] as? String == "eve's")
    }
  }

  @Test("An open thread ends for who may not see it any more")
  func closedThreads() async throws {
    try await API.run { api in
      let (ann, bob, eve) = (try await api.open("ann"), try await api.open("bob"), try await api.open("eve"))
      let (anns, eves) = (try await api.post("one", as: ann), try await api.post("two", as: eve))
      let source = try await EventSource(port: api.http.port, token: bob, posts: [anns, eves])
      #expect(try await api.send("PUT", "/v1/users/bob/block", as: ann).status == 204)
      let blocked = try await next(source)
      #expect(blocked.name == "post_deleted")
      #expect(try blocked.fields() as? [String: Int] == ["postId": anns])
      // Bob gets none of the others' comments there either.
      _ = try await comment("unheard", on: anns, as: eve, api)
      _ = try await comment("heard", on: eves, as: eve, api)
      try await api.drain("notifications")
      #expect((try await next(source).fields()["comment"] as? [String: Any])?["text"] as? String == "heard")
      let accounts = AccountAdmin(JobsDatabase(pool: api.pool))
      _ = try await accounts.suspend("eve", because: "rude", by: .terminal, through: client(api))
      #expect(try await next(source).fields() as? [String: Int] == ["postId": eves])
    }
  }

  @Test("A lost connection for notifications loses no event")
  func lostConnection() async throws {
    try await API.run { api in
      let (ann, bob, eve) = (try await api.open("ann"), try await api.open("bob"), try await api.open("eve"))
      let (post, eves) = (try await api.post("one", as: ann), try await api.post("two", as: eve))
      let source = try await EventSource(port: api.http.port, token: bob, posts: [post, eves])
      let signedOut = try await EventSource(port: api.http.port, token: eve)
      let listening: PostgresQuery = """
        SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'
        """
      try await eventually { try await api.count(listening) == 1 }
      try await api.pool.execute(
        """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'LISTEN%'
        """)
      try await eventually { try await api.count(listening) == 0 }
      #expect(try await api.send("PUT", "/v1/users/bob/block", as: eve).status == 204)
      #expect(try await api.send("DELETE", "/v1/sessions/current", as: eve).status == 204)
      let id = try await comment("meanwhile", on: post, as: ann, api)
      _ = try await api.send("POST", "/v1/conversations/bob/messages", as: ann, #"{"text":"hello"}"#)
      try await api.drain("notifications")
      var told: Set<String> = []
      for _ in 0..<3 {
        let event = try await next(source)
        told.insert(try kind(event))
        if try kind(event) == "thread" {
          #expect((try event.fields()["comment"] as? [String: Any])?["id"] as? Int == id)
        }
      }
      #expect(told == ["message", "thread", "post_deleted"])
      #expect(await signedOut.next() == nil)
    }
  }

  @Test("Only the ids of up to twenty posts are taken")
  func refusals() async throws {
    try await API.run { api in
      let ann = try await api.open("ann")
      let many = (1...21).map(String.init).joined(separator: ",")
      for posts in ["", "x", "1,", "-1", many, "9007199254740992"] {
        let reply = try await api.send("GET", "/v1/events?posts=\(posts)", as: ann)
        #expect((reply.status, reply.code) == (422, "invalid_posts"), "\(posts)")
      }
    }
  }
}
